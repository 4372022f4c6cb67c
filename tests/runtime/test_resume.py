"""Stopped and resumed training ends with the same numbers as undisturbed training."""

import json

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from data.examples import Triplet
from data.tasks import read_task
from experiment.options import parse_options
from heads.config import HeadConfig
from heads.fitting import fit_head
from heads.training import HeadTrainer
from minbert.encoder import SentenceEncoder
from run_multitask import main
from runtime.errors import StateError
from runtime.resume import load_training, save_training, saved_state
from simcse.config import SimCSEConfig
from simcse.objectives import OBJECTIVES
from simcse.stage import Backbone, TrainingTexts, tune
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised


class Killed(Exception):
    """Stands for a crash in the middle of training."""


def encoder_of(checkpoint) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")


def simcse_trainer(checkpoint, config, kind, state, kill_at=None) -> SimCSETrainer:
    encoder = encoder_of(checkpoint)
    if kind == "unsup":
        data = unsupervised(toy_sentences(60), encoder.tokenizer, 32)
    else:
        texts = toy_sentences(120)
        triplets = [Triplet(a, a.upper(), b) for a, b in zip(texts[:60], texts[60:], strict=True)]
        data = supervised(triplets, encoder.tokenizer, 32)
    calls = [0]

    def dev_score() -> float:
        calls[0] += 1
        if calls[0] == kill_at:
            raise Killed
        return float(encoder.encode_quietly(["the old cat sees a dog ."])[0].sum())

    return SimCSETrainer(encoder, data, config, dev_score, state)


def without_speed(history):
    return [{k: v for k, v in r.items() if k != "sentences_per_second"} for r in history]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("unsup", {"pooling": "cls", "mlp_only_train": True}),
        ("sup", {"pooling": "cls", "mlm_weight": 0.1}),
        ("sup", {"pooling": "avg", "symmetric": True, "warmup_ratio": 0.2}),
    ],
)
def test_simcse_resumes_to_the_same_weights_and_history(kind, settings, tiny_checkpoint, tmp_path):
    config = SimCSEConfig(batch_size=16, num_epochs=3, eval_steps=3, learning_rate=1e-3, **settings)
    whole = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "a.pt")
    expected = whole.run()
    killed = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "b.pt", kill_at=4)
    with pytest.raises(Killed):
        killed.run()
    torch.manual_seed(999)  # whatever happens in between
    resumed = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "b.pt")
    found = resumed.run(resume=True)
    assert without_speed(found) == without_speed(expected)
    assert resumed.best_score == whole.best_score
    own, reference = resumed.encoder.model.state_dict(), whole.encoder.model.state_dict()
    assert all(torch.equal(own[name], tensor) for name, tensor in reference.items())


def test_without_resume_training_starts_over(tiny_checkpoint, tmp_path):
    config = SimCSEConfig(batch_size=16, num_epochs=1, eval_steps=2)
    first = simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt").run()
    again = simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt").run()
    assert without_speed(first) == without_speed(again)


def head_result(checkpoint, data, folder, resume=False):
    config = HeadConfig(tune="full", backbone_learning_rate=1e-3, num_epochs=4)
    encoder = encoder_of(checkpoint)
    splits = read_task(data, "sts")
    result = fit_head(
        encoder, splits, "sts", "cross", config, lambda p: float(p[0]), folder / "cache",
        folder / "state.pt", resume,
    )  # fmt: skip
    return result, encoder


def test_full_tuning_resumes_to_the_same_predictions(
    tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    whole, encoder = head_result(tiny_checkpoint, toy_data, tmp_path / "a")
    train_epoch = HeadTrainer._train_epoch

    def killed(trainer, tick):
        if trainer.epoch == 2:
            raise Killed
        return train_epoch(trainer, tick)

    monkeypatch.setattr(HeadTrainer, "_train_epoch", killed)
    with pytest.raises(Killed):
        head_result(tiny_checkpoint, toy_data, tmp_path / "b")
    assert (tmp_path / "b" / "state.pt").is_file()
    monkeypatch.setattr(HeadTrainer, "_train_epoch", train_epoch)
    resumed, other = head_result(tiny_checkpoint, toy_data, tmp_path / "b", resume=True)
    assert resumed.history == whole.history
    assert np.array_equal(resumed.predictions["dev"], whole.predictions["dev"])
    own, reference = other.model.state_dict(), encoder.model.state_dict()
    assert all(torch.equal(own[name], tensor) for name, tensor in reference.items())
    assert (tmp_path / "b" / "state.pt").is_file()  # until the results are safe


@pytest.mark.parametrize("damage", ["truncated", "foreign", "other_run"])
def test_a_state_that_cannot_be_used_is_one_clear_line(damage, tiny_checkpoint, tmp_path):
    path = tmp_path / "state.pt"
    config = SimCSEConfig(batch_size=16, eval_steps=2)
    simcse_trainer(tiny_checkpoint, config, "unsup", path).run()
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:1000])
    elif damage == "foreign":
        path.write_text("not a state")
    else:
        torch.save({"trained": {}}, path)
    with pytest.raises(StateError, match=r"state\.pt") as error:
        simcse_trainer(tiny_checkpoint, config, "unsup", path).run(resume=True)
    assert "\n" not in str(error.value)


def test_a_failed_save_leaves_the_older_state(tiny_checkpoint, tmp_path, monkeypatch):
    path = tmp_path / "state.pt"
    run = simcse_trainer(tiny_checkpoint, SimCSEConfig(batch_size=16), "unsup", path)
    run._save(path)
    before = path.read_bytes()
    monkeypatch.setattr(torch, "save", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        run._save(path)
    assert path.read_bytes() == before


def parts_of(seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 2)
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters())}


def test_parts_progress_and_random_numbers_come_back_as_they_were(tmp_path):
    path = tmp_path / "new" / "state.pt"
    saved = parts_of(0)
    saved["model"](torch.randn(5, 3)).sum().backward()
    saved["optimizer"].step()
    progress = {"step": 7, "best": torch.ones(2), "history": [{"loss": 0.5, "dev": None}]}
    save_training(path, saved, progress)
    expected = torch.rand(4)
    loaded = parts_of(1)
    found = load_training(path, loaded)
    assert torch.equal(torch.rand(4), expected)
    assert found["step"] == 7 and found["history"] == progress["history"]
    assert torch.equal(found["best"], progress["best"])
    for name, part in saved.items():
        assert str(loaded[name].state_dict()) == str(part.state_dict())
    assert [file.name for file in path.parent.iterdir()] == ["state.pt"]


def test_a_state_of_one_process_as_version_020_wrote_it_is_read(tmp_path):
    save_training(tmp_path / "state.pt", parts_of(0), {})
    state = torch.load(tmp_path / "state.pt")
    (state["random"],) = state["random"]
    torch.save(state, tmp_path / "state.pt")
    expected = torch.rand(4)
    load_training(tmp_path / "state.pt", parts_of(1))
    assert torch.equal(torch.rand(4), expected)


def test_a_full_disk_is_named_and_leaves_the_older_state(tmp_path, monkeypatch):
    path = tmp_path / "state.pt"
    save_training(path, parts_of(0), {})
    before = path.read_bytes()

    def full(state, file):
        file.write_bytes(b"half")
        raise RuntimeError("PytorchStreamWriter failed")  # what torch says of it

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(OSError, match=r"state\.pt: cannot be written"):
        save_training(path, parts_of(1), {})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_there_is_a_saved_state_where_its_file_is(tmp_path):
    assert saved_state(None) is None and saved_state(tmp_path / "state.pt") is None
    assert saved_state(tmp_path) is None  # a folder is no state
    save_training(tmp_path / "state.pt", parts_of(0), {})
    assert saved_state(tmp_path / "state.pt") == tmp_path / "state.pt"


def test_a_state_that_would_run_code_is_refused(tmp_path):
    class Attack:
        def __reduce__(self):
            return (tmp_path / "executed").touch, ()

    torch.save({"model": Attack()}, tmp_path / "state.pt")
    with pytest.raises(StateError, match="delete it to start over"):
        load_training(tmp_path / "state.pt", parts_of(0))
    assert not (tmp_path / "executed").exists()


def test_diverged_training_stops_with_what_to_change(tiny_checkpoint, tmp_path):
    config = SimCSEConfig(batch_size=16, learning_rate=1e9, num_epochs=5, max_grad_norm=1e9)
    run = simcse_trainer(tiny_checkpoint, config, "unsup", None)
    with torch.no_grad():
        run.encoder.model.embeddings.LayerNorm.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="lower the learning rate"):
        run.run()


@pytest.mark.parametrize("best", [1, 2, 3])
def test_simcse_keeps_the_best_state_wherever_it_was(best, tiny_checkpoint):
    encoder = encoder_of(tiny_checkpoint)
    data = unsupervised(toy_sentences(60), encoder.tokenizer, 32)
    config = SimCSEConfig(batch_size=20, eval_steps=1, learning_rate=1e-3, pooling="cls")
    states = []

    def dev_score() -> float:
        states.append({key: t.clone() for key, t in encoder.model.state_dict().items()})
        return float(len(states) - 1 == best)  # the first call is before training

    trainer = SimCSETrainer(encoder, data, config, dev_score)
    trainer.run()
    assert len(states) == 4 and trainer.best_score == 1.0
    kept = encoder.model.state_dict()
    same = [all(kept[key].equal(t) for key, t in state.items()) for state in states]
    assert same == [number == best for number in range(4)]


def test_a_head_keeps_the_best_epoch_not_the_last(tiny_checkpoint, toy_data, tmp_path):
    seen = []

    def dev_score(found) -> float:
        seen.append(found.copy())
        return float(len(seen) == 2)

    config = HeadConfig(num_epochs=4, learning_rate=1e-2)
    splits = read_task(toy_data, "sts")
    encoder = encoder_of(tiny_checkpoint)
    result = fit_head(encoder, splits, "sts", "bi", config, dev_score, tmp_path)
    assert np.allclose(result.predictions["dev"], seen[1], atol=1e-6)
    assert not np.allclose(seen[1], seen[3], atol=1e-4)


def test_an_undefined_dev_score_never_wins(tiny_checkpoint, toy_data, tmp_path):
    scores = iter([None, -0.5, None])
    config = HeadConfig(num_epochs=3, learning_rate=1e-2)
    seen = []

    def dev_score(found):
        seen.append(found.copy())
        return next(scores)

    splits = read_task(toy_data, "sts")
    encoder = encoder_of(tiny_checkpoint)
    result = fit_head(encoder, splits, "sts", "bi", config, dev_score, tmp_path)
    assert np.allclose(result.predictions["dev"], seen[1], atol=1e-6)


def test_the_stage_leaves_a_whole_folder_and_no_state(tiny_checkpoint, toy_data, tmp_path):
    config = SimCSEConfig(batch_size=30, eval_steps=1, pooling="cls")
    folder = tmp_path / "tuned"
    backbone = Backbone(tiny_checkpoint, encoder_of(tiny_checkpoint))
    data = OBJECTIVES["sup"].data(
        toy_data / "nli_for_simcse.csv", backbone.encoder.tokenizer, config.max_length
    )
    texts = TrainingTexts("nli_for_simcse.csv", data, {})
    tune(OBJECTIVES["sup"], backbone, texts, config, folder)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tuned"]
    assert encoder_of(folder).encode(["the cat"]).shape == (1, 32)


def test_a_state_of_another_shape_is_refused(tiny_checkpoint, tmp_path):
    path = tmp_path / "state.pt"
    config = SimCSEConfig(batch_size=16, eval_steps=2, pooling="cls", mlp_only_train=True)
    simcse_trainer(tiny_checkpoint, config, "unsup", path).run()
    other = SimCSEConfig(batch_size=16, eval_steps=2, pooling="avg")  # without the projection
    with pytest.raises(StateError, match=r"state\.pt"):
        simcse_trainer(tiny_checkpoint, other, "unsup", path).run(resume=True)


@pytest.mark.parametrize("content", [[1], 3])
def test_a_state_that_is_no_dictionary_is_refused(content, tiny_checkpoint, tmp_path):
    path = tmp_path / "state.pt"
    torch.save(content, path)
    with pytest.raises(StateError):
        simcse_trainer(tiny_checkpoint, SimCSEConfig(), "unsup", path).run(resume=True)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["--head-lr", "1e-3"], ["--head-lr", "3e-2"]),
        (["--head-epochs", "6"], ["--head-epochs", "3"]),
        (["--pretrain", "sup"], ["--pretrain", "sup", "--simcse-lr", "1e-2"]),
    ],
)
def test_resume_never_goes_on_from_other_settings(
    first, second, tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    base = ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), "--task", "sts"]
    base += ["--head-epochs", "5", "--simcse-steps", "4", "--eval-steps", "2"]
    base += ["--device", "cpu", "--precision", "float32"]
    train_epoch = HeadTrainer._train_epoch

    def interrupted(trainer, tick):
        if trainer.epoch == 4:
            raise KeyboardInterrupt
        return train_epoch(trainer, tick)

    def run(folder, *argv) -> int:
        return main(parse_options([*base, "--run-dir", str(folder), *argv]))

    mixed, clean = tmp_path / "mixed" / "r", tmp_path / "clean" / "r"
    monkeypatch.setattr(HeadTrainer, "_train_epoch", interrupted)
    assert run(mixed, *first) == 130
    monkeypatch.setattr(HeadTrainer, "_train_epoch", train_epoch)
    assert run(clean, *second) == 0
    if run(mixed, *second, "--resume") == 0:  # refusing would do as well
        found, expected = (
            json.loads((folder / "results.json").read_text())[0]["metrics"]
            for folder in (mixed, clean)
        )
        assert found == expected


def test_resumed_simcse_takes_only_the_steps_that_were_missing(
    tiny_checkpoint, tmp_path, monkeypatch
):
    config = SimCSEConfig(batch_size=20, num_epochs=3, eval_steps=3, pooling="cls")
    killed = simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt", kill_at=4)
    with pytest.raises(Killed):
        killed.run()  # at step 9, the state being that of step 6
    steps = []
    train_step = SimCSETrainer._train_step

    def counted(trainer):
        steps.append(trainer.step)
        return train_step(trainer)

    monkeypatch.setattr(SimCSETrainer, "_train_step", counted)
    simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt").run(resume=True)
    assert steps == [6, 7, 8]


@pytest.mark.parametrize("flags", [["--resume"], []])
@pytest.mark.parametrize("tune", ["frozen", "full"])
def test_resume_reaches_the_head_and_only_when_asked(
    tune, flags, tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    argv = ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), "--task", "sts"]
    argv += ["--run-dir", str(tmp_path / "r"), "--head-epochs", "4", "--tune", tune]
    argv += ["--device", "cpu", "--precision", "float32"]
    train_epoch = HeadTrainer._train_epoch
    epochs = []

    def counted(trainer, tick):
        epochs.append(trainer.epoch)
        if len(epochs) == 3:
            raise KeyboardInterrupt
        return train_epoch(trainer, tick)

    monkeypatch.setattr(HeadTrainer, "_train_epoch", counted)
    assert main(parse_options(argv)) == 130
    assert main(parse_options([*argv, *flags])) == 0
    assert epochs == [0, 1, 2, *((2, 3) if flags else (0, 1, 2, 3))]
    assert not list(tmp_path.rglob("*.pt"))
