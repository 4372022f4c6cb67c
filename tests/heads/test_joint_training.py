"""Joint training: what it shares with a task's own training, what it leaves alone, and resuming."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from pairings import examples
from pupils import FULL, killed, pupils

from data.tasks import TASKS, Splits, read_task
from evaluation.metrics import task_metrics
from heads.fitting import fit_head
from heads.joint.config import SCHEDULES, JointConfig
from heads.joint.fitting import Pupil, fit_joint


def joint(encoder, data, *tasks, schedule="sequential", **more):
    """Return the results and the encoder, which is a copy."""
    own = copy.deepcopy(encoder)
    return fit_joint(own, pupils(data, *tasks), JointConfig(schedule), **more), own


def assert_same(module, other):
    expected = other.state_dict()
    assert all(torch.equal(tensor, expected[n]) for n, tensor in module.state_dict().items())


def test_one_tasks_sequence_is_its_own_training(tiny_encoder, toy_data, tmp_path):
    """With one task to learn, all is as `--tune full` does it, to the last digit."""
    found, encoder = joint(tiny_encoder, toy_data, "sts")
    rising = iter(range(9))
    other = tiny_encoder.clone()
    alone = fit_head(
        other, read_task(toy_data, "sts"), "sts", "bi", FULL, lambda p: float(next(rising)),
        tmp_path,
    )  # fmt: skip
    assert_same(encoder.model, other.model)
    assert_same(found["sts"].head, alone.head)
    for split in ("dev", "test"):
        assert np.array_equal(found["sts"].predictions[split], alone.predictions[split])
        assert np.array_equal(found["sts"].before[split], alone.predictions[split])


def test_later_tasks_change_the_encoder_and_leave_earlier_heads_alone(tiny_encoder, toy_data):
    both, encoder = joint(tiny_encoder, toy_data, "sst", "sts")
    first, other = joint(tiny_encoder, toy_data, "sst")
    assert_same(both["sst"].head, first["sst"].head)
    assert np.array_equal(both["sst"].before["dev"], first["sst"].predictions["dev"])
    before, after = other.model.state_dict(), encoder.model.state_dict()
    assert not any(torch.equal(before[n], after[n]) for n in before if "layer.0" in n)
    # One check per epoch of either task, of both tasks.
    assert [len(found.history) for found in both.values()] == [4, 4]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_resumed_training_ends_with_the_same_numbers(
    schedule, tiny_encoder, toy_data, tmp_path, monkeypatch
):
    tasks = ("sst", "sts", "para")
    whole, encoder = joint(tiny_encoder, toy_data, *tasks, schedule=schedule)
    state = tmp_path / "state.pt"
    with killed(monkeypatch):
        joint(tiny_encoder, toy_data, *tasks, schedule=schedule, state_path=state)
    torch.manual_seed(7)
    again, other = joint(
        tiny_encoder, toy_data, *tasks, schedule=schedule, state_path=state, resume=True
    )
    assert_same(encoder.model, other.model)
    for task in tasks:
        assert again[task].history == whole[task].history
        assert np.array_equal(again[task].predictions["test"], whole[task].predictions["test"])
        assert again[task].before.keys() == whole[task].before.keys()
        for split, found in whole[task].before.items():
            assert np.array_equal(again[task].before[split], found)


@pytest.mark.parametrize("schedule", ["round-robin", "annealed"])
@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_all_tasks_overfit_eight_examples(schedule, kind, tiny_encoder):
    config = replace(FULL, tune="joint", num_epochs=120, batch_size=4, dropout=0.0)
    config = replace(config, learning_rate=1e-2, warmup_ratio=0.0)
    scores, learners = {}, {}
    for task in ("sst", "para", "sts"):
        rows = examples(task)
        labels = np.array([row.label for row in rows], float)

        def score(found, task=task, labels=labels):
            return task_metrics(task, found, labels)[TASKS[task].main_metric]

        splits = Splits(train=rows, dev=rows, test=[])
        own = kind if TASKS[task].is_pair else "bi"
        scores[task], learners[task] = score, Pupil(splits, own, config, score)
    found = fit_joint(tiny_encoder.clone(), learners, JointConfig(schedule))
    for task, fitted in found.items():
        assert scores[task](fitted.predictions["dev"]) > 0.95, task
