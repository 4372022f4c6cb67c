"""Joint training: schedules, what is learnt and forgotten, replay, two processes."""

from collections import Counter
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch
from killable import assert_same_weights, encoder_of
from ranks import on_two_ranks
from torch import nn

from data.tasks import read_task
from heads.config import SCHEDULES, HeadConfig, JointConfig
from heads.joint import Course, checks, numbered, phases
from heads.train import HeadTask, fit_heads

COURSES = {"sst": Course(400, 7, 3), "sts": Course(100, 2, 3), "para": Course(1600, 25, 3)}
TOTAL = 3 * (7 + 2 + 25)


def plan(schedule, *remedies, longer=1, epochs=3, seed=1):
    courses = {
        task: replace(course, steps_per_epoch=longer * course.steps_per_epoch, epochs=epochs)
        for task, course in COURSES.items()
    }
    return phases(JointConfig(schedule, remedies, 0.2), courses, seed)


def tasks_of(plan):
    return [task for phase in plan for task in phase.steps]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_schedules_read_as_many_batches_each_numbered_by_task(schedule):
    found = plan(schedule)
    assert len(tasks_of(found)) == TOTAL
    assert found == plan(schedule)
    if schedule == "proportional":
        assert found != plan(schedule, seed=2)
    batches = numbered(found)
    for name in COURSES:
        numbers = [number for task, number in batches if task == name]
        assert numbers == list(range(len(numbers)))


def test_sequential_is_each_tasks_own_training_after_the_other():
    found = plan("sequential")
    assert tasks_of(found) == ["sst"] * 21 + ["sts"] * 6 + ["para"] * 75
    assert [phase.task for phase in found] == ["sst", "sts", "para"]
    assert checks(found)[:4] == [(7, None), (14, None), (21, "sst"), (23, None)]
    assert checks(found)[-1] == (TOTAL, "para")


def test_round_robin_takes_turns():
    (phase,) = plan("round-robin")
    assert tasks_of([phase]) == ["sst", "sts", "para"] * (TOTAL // 3)
    assert checks([phase])[-1] == (len(phase.steps), None)


@pytest.mark.parametrize("epoch", [1, 5])
def test_shares_are_those_of_the_examples(epoch):
    (phase,) = plan("proportional", longer=200, epochs=5)
    size = len(phase.steps) // 5
    counts = Counter(tasks_of([phase])[size * (epoch - 1) : size * epoch])
    weights = np.array([400.0, 100.0, 1600.0])
    shares = np.array([counts[name] for name in COURSES]) / size
    assert np.allclose(shares, weights / weights.sum(), atol=0.02)


def test_replay_mixes_a_share_of_earlier_tasks_into_later_phases():
    found = plan("sequential", "replay", longer=30)
    for phase, earlier in zip(found, [[], ["sst"], ["sst", "sts"]], strict=True):
        counts = Counter(tasks_of([phase]))
        assert counts.pop(phase.task) == 30 * COURSES[phase.task].steps
        assert sorted(counts) == sorted(earlier)
        if earlier:
            assert sum(counts.values()) / len(phase.steps) == pytest.approx(0.2, abs=0.005)
            assert max(counts.values()) - min(counts.values()) <= 1
            # Spread over the whole phase.
            half = len(phase.steps) // 2
            first = Counter(tasks_of([phase])[:half])
            assert sum(first[name] for name in earlier) / half > 0.15


FULL = HeadConfig(
    tune="full", backbone_learning_rate=1e-3, num_epochs=2, batch_size=16, warmup_ratio=0.1
)
JOINT = replace(FULL, tune="joint")


def learners(data, *tasks, config=JOINT):
    return [
        HeadTask(task, "bi", config, read_task(data, task), lambda p: float(p.mean()))
        for task in tasks
    ]


def test_one_tasks_sequence_is_its_own_training(tiny_encoder, toy_data, tmp_path):
    """With one task to learn, all is as `--tune full` does it, to the last digit."""
    jointly, alone = tiny_encoder.clone(), tiny_encoder.clone()
    sequential = JointConfig("sequential")
    (found,) = fit_heads(jointly, learners(toy_data, "sts"), tmp_path, joint=sequential)
    rising = count()
    (head_task,) = learners(toy_data, "sts", config=FULL)
    head_task = replace(head_task, dev_score=lambda p: float(next(rising)))
    (expected,) = fit_heads(alone, [head_task], tmp_path)
    assert_same_weights(jointly.model, alone.model)
    assert_same_weights(found.head, expected.head)
    np.testing.assert_equal(found.predictions, expected.predictions)
    np.testing.assert_equal(found.before, expected.predictions)


def test_later_tasks_change_the_encoder_and_leave_earlier_heads_alone(
    tiny_encoder, toy_data, tmp_path
):
    config, one, two = JointConfig("sequential"), tiny_encoder.clone(), tiny_encoder.clone()
    (first,) = fit_heads(one, learners(toy_data, "sts"), tmp_path, joint=config)
    both = fit_heads(two, learners(toy_data, "sts", "sst"), tmp_path, joint=config)
    assert_same_weights(both[0].head, first.head)
    assert np.array_equal(both[0].before["dev"], first.predictions["dev"])
    assert not np.array_equal(both[0].before["dev"], both[0].predictions["dev"])
    before, after = one.model.state_dict(), two.model.state_dict()
    assert not any(torch.equal(before[n], after[n]) for n in before if "layer.0" in n)
    # One check per epoch of either task, of both tasks.
    assert [[record["epoch"] for record in fitted.history] for fitted in both] == [[1, 2, 3, 4]] * 2


def test_a_later_task_is_learnt_as_if_its_training_began_there(tiny_encoder, toy_data, tmp_path):
    """Schedule and AdamW's moments begin anew: without dropout, nothing else could differ."""
    still = replace(JOINT, dropout=0.0, backbone_dropout=0.0)
    sequential, in_one, in_two = (
        JointConfig("sequential"),
        tiny_encoder.clone(),
        tiny_encoder.clone(),
    )
    both = learners(toy_data, "sts", "sst", config=still)
    fitted = fit_heads(in_one, both, tmp_path, joint=sequential)
    for task in ("sts", "sst"):
        (last,) = fit_heads(
            in_two, learners(toy_data, task, config=still), tmp_path, joint=sequential
        )
    assert_same_weights(in_one.model, in_two.model)
    assert_same_weights(fitted[1].head, last.head)


# Slowly: Adam makes large steps of gradients that differ in their last digits only.
SLOW = replace(JOINT, dropout=0.0, backbone_dropout=0.0, backbone_learning_rate=1e-5)


def jointly(checkpoint, data, config):
    """Return for each task the dev predictions, and the weights of its head."""
    head_tasks = learners(data, "sst", "sts", "para", config=SLOW)
    fitted_heads = fit_heads(encoder_of(checkpoint), head_tasks, data, joint=config)
    weights = [nn.utils.parameters_to_vector(f.head.parameters()).detach() for f in fitted_heads]
    return [(f.predictions["dev"], w) for f, w in zip(fitted_heads, weights, strict=True)]


def test_two_ranks_train_jointly_as_one_does(tiny_checkpoint, toy_data, tmp_path):
    config = JointConfig("round-robin")
    wanted = jointly(tiny_checkpoint, toy_data, config)
    for found in on_two_ranks(jointly, tmp_path, tiny_checkpoint, toy_data, config):
        for (predictions, head), (expected, weights) in zip(found, wanted, strict=True):
            np.testing.assert_allclose(predictions, expected, atol=1e-4)
            # 4e-6 by the order of sums; 1e-3 if a head's gradient is summed twice.
            assert torch.dist(head, weights) < 1e-4 * weights.norm()
