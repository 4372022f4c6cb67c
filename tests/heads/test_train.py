"""A head is fitted: it learns, its encoder stays frozen or is tuned, its best epoch is kept."""

import numpy as np
import pytest
import torch
from killable import Killed, encoder_of
from pairings import examples, zero

from data.tasks import TASKS, Splits, read_task
from evaluation.metrics import task_metrics
from heads.config import HeadConfig, JointConfig, head_config
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
    config = HeadConfig(
        tune=tune,
        learning_rate=1e-2,
        backbone_learning_rate=1e-3,
        num_epochs=epochs,
        batch_size=4,
        dropout=0.0,
    )
    labels = np.array([row.label for row in rows], float)

    def score(predictions):
        return task_metrics(task, predictions, labels)[TASKS[task].main_metric]

    head_task = HeadTask(task, reader, config, Splits(train=rows, dev=rows, test=[]), score)
    (result,) = fit_heads(tiny_encoder, [head_task], tmp_path)
    assert score(result.predictions["dev"]) > 0.95
    assert result.history[-1]["loss"] < result.history[0]["loss"]
    assert result.history[-1]["epoch"] == epochs and result.before == {}


@pytest.mark.parametrize(("task", "reader"), [("sst", "bi"), ("sts", "cross")])
def test_a_frozen_encoder_is_bit_identical_afterwards(
    task, reader, tiny_encoder, toy_data, tmp_path
):
    before = {name: t.clone() for name, t in tiny_encoder.model.state_dict().items()}
    config = head_config("quick", "frozen", task)
    head_task = HeadTask(task, reader, config, read_task(toy_data, task), zero)
    fit_heads(tiny_encoder, [head_task], tmp_path)
    after = tiny_encoder.model.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert all(parameter.grad is None for parameter in tiny_encoder.model.parameters())
    assert not tiny_encoder.model.training


@pytest.mark.parametrize(
    ("tune", "changing", "dropout"),
    [("last1", [2], None), ("last2", [1, 2], 0.5), ("full", [0, 1, 2], 0.0)],
)
def test_tuning_changes_the_last_layers_or_all(
    tune, changing, dropout, tiny_encoder, toy_data, tmp_path
):
    before = {name: t.clone() for name, t in tiny_encoder.model.state_dict().items()}
    config = HeadConfig(
        tune=tune, backbone_learning_rate=1e-3, backbone_dropout=dropout, num_epochs=1
    )
    head_task = HeadTask("sts", "cross", config, read_task(toy_data, "sts"), zero)
    fit_heads(tiny_encoder, [head_task], tmp_path)
    after = tiny_encoder.model.state_dict()
    changed = {name for name, tensor in before.items() if not torch.equal(after[name], tensor)}
    last = tuple(f"encoder.layer.{layer}." for layer in changing)
    assert {name for name in before if name.startswith(last)} <= changed
    assert tune == "full" or all(name.startswith(last) for name in changed)
    rates = {m.p for m in tiny_encoder.model.modules() if isinstance(m, torch.nn.Dropout)}
    assert rates == {0.1 if dropout is None else dropout}


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

    config = HeadConfig(num_epochs=4, learning_rate=1e-2)
    head_task = HeadTask("sts", "bi", config, read_task(toy_data, "sts"), score)
    (expected,) = fit_heads(tiny_encoder, [head_task], tmp_path)
    every_epoch, seen = seen, []
    (result,) = fit_heads(tiny_encoder, [head_task], tmp_path, epoch=chosen)
    assert np.array_equal(result.predictions["dev"], every_epoch[kept])
    assert not np.array_equal(every_epoch[kept], every_epoch[kept - 1])
    # The rates fall as if all epochs were to come.
    assert result.history == expected.history[:chosen]


def test_the_loss_of_an_epoch_is_its_mean_over_examples(tiny_encoder, toy_data, tmp_path):
    """Batches of 32 and 16 rows of one head that hardly learns, against one batch of 48."""
    splits, losses = read_task(toy_data, "sts"), []
    for size in (32, 48):
        config = HeadConfig(num_epochs=1, batch_size=size, learning_rate=1e-12, dropout=0.0)
        head_task = HeadTask("sts", "bi", config, splits, zero)
        (fitted,) = fit_heads(tiny_encoder, [head_task], tmp_path)
        losses.append(fitted.history[-1]["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_cache_is_named_by_the_encoder_unless_its_fingerprint_is_known(
    tiny_encoder, toy_data, tmp_path
):
    splits, config = read_task(toy_data, "sst"), HeadConfig(num_epochs=1)

    def fit(fingerprint=None) -> int:
        head_task = HeadTask("sst", "bi", config, splits, zero)
        fit_heads(tiny_encoder, [head_task], tmp_path, fingerprint=fingerprint)
        return len(list(tmp_path.iterdir()))

    known = tiny_encoder.fingerprint()
    assert fit() == 1
    tiny_encoder.model.embeddings.word_embeddings.weight.data[7] += 1
    assert fit(known) == 1 and fit() == 2


FULL = HeadConfig(
    tune="full", backbone_learning_rate=1e-3, num_epochs=2, batch_size=16, warmup_ratio=0.1
)


@pytest.mark.parametrize(
    "joint",
    [
        None,
        JointConfig("sequential", ("replay",)),
        JointConfig("round-robin", ("pcgrad",)),
        JointConfig("annealed"),
    ],
    ids=["one task", "replay", "pcgrad", "annealed"],
)
def test_a_killed_training_resumes_to_the_same_numbers(
    joint, tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
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
        fitted(state_path=state)
    torch.manual_seed(7)
    steps = []
    monkeypatch.setattr(
        HeadTrainer, "_train_step", lambda *args: steps.append(args[1]) or train_step(*args)
    )
    again, other = fitted(state_path=state, resume=True)
    assert min(steps) > 0
    expected = encoder.model.state_dict()
    assert all(torch.equal(expected[n], t) for n, t in other.model.state_dict().items())
    for resumed, undisturbed in zip(again, whole, strict=True):
        assert resumed.history == undisturbed.history
        for split, predictions in undisturbed.predictions.items():
            assert np.array_equal(resumed.predictions[split], predictions)
        assert resumed.before.keys() == undisturbed.before.keys()
        for split, predictions in undisturbed.before.items():
            assert np.array_equal(resumed.before[split], predictions)
    assert state.is_file()  # until the results are safe
