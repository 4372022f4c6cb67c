"""A head is fitted: it learns, its encoder stays frozen or is tuned, its best epoch is kept."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from killable import Killed, assert_same_weights, encoder_of, weights_of
from pairings import examples, fit, zero

from data.tasks import TASKS, read_task
from evaluation.metrics import task_metrics
from heads import train
from heads.config import HeadConfig, JointConfig
from heads.train import HeadTask, HeadTrainer, fit_heads


@pytest.mark.parametrize(
    ("task", "reader", "tune", "epochs"),
    [
        ("sst", "bi", "frozen", 150),
        ("para", "bi", "frozen", 60),
        ("sts", "bi", "frozen", 60),
        ("sts", "cross", "full", 50),
    ],
)
def test_every_head_overfits_eight_examples(task, reader, tune, epochs, tiny_encoder, tmp_path):
    rows = examples(task)
    config = {"learning_rate": 1e-2, "backbone_learning_rate": 1e-3, "batch_size": 4}
    config |= {"tune": tune, "num_epochs": epochs, "dropout": 0.0}
    labels = np.array([row.label for row in rows], float)

    def score(predictions):
        return task_metrics(task, predictions, labels)[TASKS[task].main_metric]

    result = fit(tiny_encoder, tmp_path, rows, score, task, reader, **config)
    assert score(result.predictions["dev"]) > 0.95
    assert result.history[-1]["loss"] < result.history[0]["loss"]
    assert result.history[-1]["epoch"] == epochs and result.before == {}


@pytest.mark.parametrize(
    ("task", "reader", "tune", "changing", "dropout"),
    [
        ("sst", "bi", "frozen", [], None),
        ("sts", "cross", "frozen", [], None),
        ("sts", "cross", "full", [0, 1, 2], None),
        ("sts", "cross", "full", [0, 1, 2], 0.5),
        ("sts", "cross", "full", [0, 1, 2], 0.0),
    ],
)
def test_training_changes_nothing_or_every_layer(
    task, reader, tune, changing, dropout, tiny_encoder, toy_data, tmp_path
):
    before = weights_of(tiny_encoder.model)
    config = {"tune": tune, "backbone_learning_rate": 1e-3, "backbone_dropout": dropout}
    fit(
        tiny_encoder,
        tmp_path,
        read_task(toy_data, task),
        zero,
        task,
        reader,
        num_epochs=1,
        **config,
    )
    after = tiny_encoder.model.state_dict()
    assert after.keys() == before.keys()
    changed = {name for name, tensor in before.items() if not torch.equal(after[name], tensor)}
    layers = tuple(f"encoder.layer.{layer}." for layer in changing)
    assert {name for name in before if name.startswith(layers)} <= changed
    rates = {m.p for m in tiny_encoder.model.modules() if isinstance(m, torch.nn.Dropout)}
    assert rates == {0.1 if dropout is None else dropout}
    if tune == "frozen":
        assert not changed and not tiny_encoder.model.training
        assert all(parameter.grad is None for parameter in tiny_encoder.model.parameters())


@pytest.mark.parametrize(
    ("scores", "chosen", "kept"),
    [
        ([0.1, 0.9, 0.5, 0.2], None, 1),
        ([0.1, 0.9, 0.9, 0.2], None, 1),
        ([None, -0.5, None, -0.7], None, 1),
        ([None, None, None, None], None, 0),
        ([0.9, None, 0.1, 0.2], 3, 2),
    ],
)
def test_the_best_epoch_is_kept_or_the_chosen_one(
    scores, chosen, kept, tiny_encoder, toy_data, tmp_path
):
    seen: list[np.ndarray] = []

    def score(predictions):
        seen.append(predictions.copy())
        return scores[len(seen) - 1]

    given = tiny_encoder, tmp_path, read_task(toy_data, "sts"), score
    config = {"num_epochs": 4, "learning_rate": 1e-2}
    expected = fit(*given, **config)
    every_epoch, seen = seen, []
    result = fit(*given, how={"epoch": chosen}, **config)
    assert np.array_equal(result.predictions["dev"], every_epoch[kept])
    assert not np.array_equal(every_epoch[kept], every_epoch[kept - 1])
    # The rates fall as if all epochs were to come.
    assert result.history == expected.history[:chosen]


@pytest.mark.parametrize(("how", "reads"), [({"epoch": 2}, [48, 40]), ({}, [48, 48, 40])])
def test_a_tuned_encoder_reads_no_more_than_it_must(
    how, reads, tiny_encoder, toy_data, tmp_path, monkeypatch
):
    """Dev after each epoch that may be kept, test in the end, nothing twice."""
    lengths = []
    head_logits = train.head_logits

    def counted(head, inputs):
        lengths.append(len(inputs))
        return head_logits(head, inputs)

    monkeypatch.setattr(train, "head_logits", counted)
    splits = read_task(toy_data, "sts")
    splits = replace(splits, dev=splits.train[:48], test=splits.train[:40])
    given = tiny_encoder, tmp_path, splits, lambda predictions: 1.0
    result = fit(*given, how=how, num_epochs=2, tune="full", backbone_learning_rate=1e-3)
    assert lengths == reads
    expected = head_logits(result.head, result.inputs["dev"])
    assert np.array_equal(result.logits["dev"], expected)


def test_the_loss_of_an_epoch_is_its_mean_over_examples(tiny_encoder, toy_data, tmp_path):
    """Batches of 32 and 16 rows of one head that hardly learns, against one batch of 48."""
    splits, losses = read_task(toy_data, "sts"), []
    for size in (32, 48):
        config = {"num_epochs": 1, "batch_size": size, "learning_rate": 1e-12, "dropout": 0.0}
        losses.append(fit(tiny_encoder, tmp_path, splits, **config).history[-1]["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_cache_is_named_by_the_encoder_unless_its_fingerprint_is_known(
    tiny_encoder, toy_data, tmp_path
):
    splits = read_task(toy_data, "sst")

    def caches(fingerprint=None) -> int:
        how = {"fingerprint": fingerprint}
        fit(tiny_encoder, tmp_path, splits, task="sst", how=how, num_epochs=1)
        return len(list(tmp_path.iterdir()))

    known = tiny_encoder.fingerprint()
    assert caches() == 1
    tiny_encoder.model.embeddings.word_embeddings.weight.data[7] += 1
    assert caches(known) == 1 and caches() == 2


FULL = HeadConfig(
    tune="full", backbone_learning_rate=1e-3, num_epochs=2, batch_size=16, warmup_ratio=0.1
)


@pytest.mark.parametrize(
    "joint",
    [None, JointConfig("sequential", ("replay",)), JointConfig("proportional")],
    ids=["one task", "replay", "proportional"],
)
def test_a_killed_training_resumes_to_the_same_numbers(
    joint, tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    monkeypatch.setattr(train, "SAVE_STEPS", 1)
    tasks = ("sts",) if joint is None else ("sst", "sts", "para")
    head_tasks = [
        HeadTask(task, "bi", FULL, read_task(toy_data, task), lambda p: float(p.mean()))
        for task in tasks
    ]

    def fitted(joint=joint, **more):
        encoder = encoder_of(tiny_checkpoint)
        return fit_heads(encoder, head_tasks, tmp_path, joint=joint, **more), encoder

    whole, encoder = fitted()
    if joint and joint.remedies:  # they change the training
        plain, _ = fitted(JointConfig(joint.schedule))
        assert not np.array_equal(plain[1].predictions["dev"], whole[1].predictions["dev"])
    state, train_step = tmp_path / "state.pt", HeadTrainer._train_step

    def killed(trainer, step):
        if step == len(trainer.batches) - 2:
            raise Killed
        return train_step(trainer, step)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(HeadTrainer, "_train_step", killed)
        slow = SimpleNamespace(perf_counter=count(0, 100).__next__)  # 100 s between two calls
        patched.setattr(train, "time", slow)
        fitted(state_path=state)
    torch.manual_seed(7)
    steps = []
    monkeypatch.setattr(
        HeadTrainer, "_train_step", lambda *args: steps.append(args[1]) or train_step(*args)
    )
    again, other = fitted(state_path=state, resume=True)
    assert min(steps) > 0
    assert_same_weights(other.model, encoder.model)
    for resumed, undisturbed in zip(again, whole, strict=True):
        assert resumed.history == undisturbed.history
        np.testing.assert_equal(resumed.predictions, undisturbed.predictions)
        np.testing.assert_equal(resumed.before, undisturbed.before)
        assert resumed.seconds > 100 > undisturbed.seconds
    assert state.is_file()  # until the results are safe


def test_a_state_is_saved_every_so_many_steps_and_in_the_end(
    tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    config = replace(FULL, num_epochs=6)
    task = HeadTask("sts", "bi", config, read_task(toy_data, "sts"), lambda p: float(p.mean()))
    per_epoch = -(-len(task.splits.train) // config.batch_size)
    monkeypatch.setattr(train, "SAVE_STEPS", 4 * per_epoch)
    saved = []
    monkeypatch.setattr(train, "save_trainer", lambda trainer, names: saved.append(trainer.step))
    fit_heads(encoder_of(tiny_checkpoint), [task], tmp_path)
    assert saved == [4 * per_epoch, 6 * per_epoch]
