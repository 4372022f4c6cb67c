"""Two processes on this machine do what one does: same loss, gradients, vectors, files."""

import contextlib
import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from killable import Killed, encoder_of, simcse_trainer
from ranks import on_two_ranks

import run_multitask
from baselines.objectives import ALL_OBJECTIVES
from data.examples import SentencePair, Triplet
from data.tasks import read_task
from heads.config import HeadConfig
from heads.train import HeadTask, fit_heads
from runtime import processes
from runtime.commands import exit_code
from runtime.errors import MachineError
from simcse import train
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised


def test_half_of_torchruns_variables_is_one_line(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(MachineError, match=r"RANK is not.*torchrun"):
        processes.join_processes("cpu")


@pytest.mark.parametrize(("value", "count"), [("", 1), ("3", 3), ("three", None)])
def test_world_size_is_a_number_or_one_line(value, count, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", value)
    if count:
        assert processes.num_started() == count
    else:
        with pytest.raises(MachineError, match="WORLD_SIZE is 'three'"):
            processes.num_started()


def all_on_ranks(checkpoint, data, folder):
    """Return what each test below compares: processes are started once for all."""
    return {
        "parts": primitives(folder),
        "steps": {name: step_gradients(checkpoint, name) for name in STEPS},
        "views": views_under_one_mask(checkpoint),
        "head": tuned_head(checkpoint, data, folder / "head"),
        "resumed": trained_twice(checkpoint, folder),
        "run": whole_command(checkpoint, data, folder / "run"),  # the last: it leaves the group
    }


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def ranks(tiny_checkpoint, toy_data, scratch):
    return on_two_ranks(all_on_ranks, scratch, tiny_checkpoint, toy_data, scratch)


def first_words_masked(batch, specials, mask_id, vocab_size, probability):
    """Mask the first word of each sequence: no draw, so that one and two processes agree."""
    labels = torch.full_like(batch.input_ids, -100)
    first = batch.cu_seqlens[:-1] + 1
    labels[first] = batch.input_ids[first]
    return batch, labels


def simcse_steps(checkpoint, settings):
    """Return a trainer on 24 triplets."""
    train.mask_tokens = first_words_masked
    encoder = encoder_of(checkpoint)
    # Of 24 examples 11 are repeated, each by the other process: texts are compared across them.
    sentences = (toy_sentences(39) * 2)[:72]
    triplets = [Triplet(*sentences[i : i + 3]) for i in range(0, 72, 3)]
    data = supervised(triplets, encoder.tokenizer, 32)
    return SimCSETrainer(encoder, data, SimCSEConfig(**settings))


def sbert_steps(checkpoint, settings):
    """Return a trainer of SBERT, whose loss has parameters, on 24 pairs."""
    encoder, texts, sbert = encoder_of(checkpoint), toy_sentences(25), ALL_OBJECTIVES["sbert"]
    pairs = [SentencePair("", texts[i + 1], texts[i], i % 3) for i in range(24)]
    data = sbert.views(pairs, encoder.tokenizer, 32)
    return SimCSETrainer(encoder, data, SimCSEConfig(**settings), form=sbert.form)


STEPS = {
    "plain": (simcse_steps, {"pooling": "cls"}),
    "mlm-chunks": (simcse_steps, {"pooling": "avg", "mlm_weight": 0.5, "chunk_tokens": 60}),
    "classifier": (sbert_steps, {"pooling": "avg"}),
}


def step_gradients(checkpoint, name):
    """Return the loss, the in-batch accuracy and all gradients of one batch, without dropout."""
    trainer_of, settings = STEPS[name]
    trainer = trainer_of(checkpoint, settings)
    trainer.trained.eval()
    loss, accuracy = trainer.add_gradients(np.arange(24))
    named = {name: p.grad for name, p in trainer.trained.named_parameters()}
    return loss.item(), accuracy.item(), named


@pytest.mark.parametrize("name", STEPS)
def test_two_ranks_have_the_loss_and_gradients_of_one(name, tiny_checkpoint, ranks, monkeypatch):
    monkeypatch.setattr(train, "mask_tokens", train.mask_tokens)  # undone afterwards
    loss, accuracy, gradients = step_gradients(tiny_checkpoint, name)
    assert max(g.abs().max() for g in gradients.values() if g is not None) > 1e-3
    for found in (rank["steps"][name] for rank in ranks):
        assert found[0] == pytest.approx(loss, rel=1e-5) and found[1] == accuracy
        assert found[2].keys() == gradients.keys()
        for part, gradient in gradients.items():
            assert (found[2][part] is None) == (gradient is None), part
            if gradient is not None:
                torch.testing.assert_close(found[2][part], gradient, rtol=1e-5, atol=1e-5)


def views_under_one_mask(checkpoint):
    """Return what the loss compares in training mode, with one dropout mask for both views."""
    encoder = encoder_of(checkpoint)
    data = unsupervised(toy_sentences(24), encoder.tokenizer, 32)
    trainer = SimCSETrainer(encoder, data, SimCSEConfig(fixed_mask=True, chunk_tokens=60))
    trainer.trained.train()
    measure, compared = trainer.form.measure, []
    trainer.form.measure = lambda views, *rest: compared.extend(views) or measure(views, *rest)
    trainer.add_gradients(np.arange(24))
    return [view.detach() for view in compared]


def test_under_one_mask_two_ranks_have_equal_views(ranks):
    for first, second in (rank["views"] for rank in ranks):
        assert first.shape == (24, 32) and torch.equal(first, second)
    assert torch.equal(ranks[0]["views"][0], ranks[1]["views"][0])


def fail():
    raise MachineError("no such thing")


def primitives(folder):
    rank = processes.rank()
    own = torch.arange(5.0)[rank::2, None].requires_grad_()  # of 5 rows: 3 and 2
    joint = processes.join_shares(own, 5)
    (joint.square().sum() * (rank + 1)).backward()
    parameters = [torch.nn.Parameter(torch.zeros(2)) for _ in range(3)]
    parameters[0].grad = torch.full((2,), 1.0 + rank)
    if rank:
        parameters[1].grad = torch.ones(2)
    processes.sum_gradients(parameters)
    with processes.main_first():
        found = (folder / "made").exists()
        (folder / "made").touch()
    with redirect_stderr(io.StringIO()) as told:
        exit_code(fail)
    return {
        "joint": joint.detach().ravel().tolist(),
        "own gradient": own.grad.ravel().tolist(),
        "sums": [None if p.grad is None else p.grad.tolist() for p in parameters],
        "objects": processes.gather_objects({"rank": rank}),
        "found": found,
        "silent": getattr(sys.stdout, "name", "") == os.devnull,
        "told": told.getvalue(),
    }


def test_the_parts_work_across_ranks(ranks):
    first, second = (rank["parts"] for rank in ranks)
    for found in (first, second):
        assert found["joint"] == [0, 1, 2, 3, 4]
        assert found["sums"] == [[3, 3], [1, 1], None]
        assert found["objects"] == [{"rank": 0}, {"rank": 1}]
    assert first["own gradient"] == [0, 4, 8]  # 2x of its own rows alone
    assert second["own gradient"] == [4, 12]
    assert (first["found"], second["found"]) == (False, True)
    assert (first["silent"], second["silent"]) == (False, True)
    assert first["told"] == "error: no such thing\n"
    assert second["told"] == "process 1 stopped: no such thing\n"


def test_without_torchrun_nothing_happens(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    processes.join_processes()
    assert (processes.rank(), processes.world_size(), processes.is_main()) == (0, 1, True)
    rows = np.arange(3)
    assert processes.share(rows).tolist() == [0, 1, 2]
    assert processes.gather_objects("a") == ["a"]


def tuned_head(checkpoint, data, folder):
    """Return the predictions of a frozen and a tuned cross-encoder, and the latter's losses."""
    encoder = encoder_of(checkpoint)
    for module in encoder.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    config = HeadConfig(
        tune="full", batch_size=15, num_epochs=2, dropout=0.0, backbone_learning_rate=1e-3
    )  # 48 rows: shares of 8 and 7, in the last batch of 2 and 1
    splits, score = read_task(data, "sts"), lambda predictions: float(predictions[0])
    frozen, result = (
        fit_heads(encoder, [HeadTask("sts", "cross", settings, splits, score)], folder)[0]
        for settings in (HeadConfig(num_epochs=2), config)
    )
    losses = [record["loss"] for record in result.history]
    return frozen.predictions["dev"], result.predictions["dev"], losses


def test_two_ranks_tune_a_head_and_its_encoder_as_one_does(
    tiny_checkpoint, toy_data, tmp_path, ranks
):
    frozen, wanted, losses = tuned_head(tiny_checkpoint, toy_data, tmp_path / "one")
    assert losses[1] < losses[0]
    for each, found, joint_losses in (rank["head"] for rank in ranks):
        assert np.array_equal(each, frozen)
        np.testing.assert_allclose(found, wanted, atol=1e-3)
        np.testing.assert_allclose(joint_losses, losses, atol=1e-4)


def whole_command(checkpoint, data, folder):
    """Return the exit code of a run, and what this process printed."""
    argv = ["--run-dir", str(folder), "--backbone", str(checkpoint), "--data", str(data)]
    argv += "--pretrain sup --task sts --reader bi cross --device cpu".split()
    argv += "--precision float32 --simcse-steps 4 --eval-steps 2 --head-epochs 2".split()
    argv += ["--cost-seconds", "0.2"]
    with contextlib.nullcontext() if processes.rank() else redirect_stdout(io.StringIO()) as told:
        code = run_multitask.main(argv)
    return code, told and told.getvalue()


def test_two_processes_make_one_run_folder(ranks, scratch):
    (code, told), other = (rank["run"] for rank in ranks)
    assert code == 0 and other == (0, None)
    assert "2 processes" in told and told.count("machine   cpu") == 1
    results = json.loads((scratch / "run" / "results.json").read_text())
    assert [(cell["pretrain"], cell["reader"]) for cell in results] == [
        ("none", "bi"),
        ("sup", "bi"),
        ("sup", "cross"),
    ]
    assert json.loads((scratch / "run" / "config.json").read_text())["processes"] == 2
    assert (scratch / "run" / "costs.json").is_file()


def trained_twice(checkpoint, folder):
    """Return the weights of an undisturbed run, and of one stopped in the middle and resumed."""
    config = SimCSEConfig(batch_size=16, learning_rate=1e-3, num_epochs=1, eval_steps=1)
    state = folder / f"state{os.environ['WORLD_SIZE']}.pt"
    whole = simcse_trainer(checkpoint, config, "unsup", None)
    whole.run()
    killed = simcse_trainer(checkpoint, config, "unsup", state)
    train_step = killed._train_step

    def stopped_step():
        if killed.step == 2:  # in every process; the state is that of step 1
            raise Killed
        return train_step()

    killed._train_step = stopped_step
    with pytest.raises(Killed):
        killed.run()
    resumed = simcse_trainer(checkpoint, config, "unsup", state)
    resumed.run(resume=True)
    return whole.trained.state_dict(), resumed.trained.state_dict(), whole.step


def test_two_ranks_resume_exactly_and_stay_equal(ranks):
    (whole, resumed, steps), (other, _, _) = (rank["resumed"] for rank in ranks)
    assert steps == 4
    for name, weights in whole.items():
        assert torch.equal(weights, resumed[name]), name
        assert torch.equal(weights, other[name]), name
