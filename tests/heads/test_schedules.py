"""Schedules: how many batches of which task, and when."""

from collections import Counter

import numpy as np
import pytest

from heads.config import SCHEDULES, JointConfig
from heads.schedules import Course, checks, numbered, phases

COURSES = {"sst": Course(400, 7, 3), "sts": Course(100, 2, 3), "para": Course(1600, 25, 3)}
TOTAL = 3 * (7 + 2 + 25)


def plan(schedule, *remedies, courses=COURSES, seed=1):
    return phases(JointConfig(schedule, remedies), courses, seed)


def tasks_of(found):
    return [task for phase in found for step in phase.steps for task in step]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_schedules_read_as_many_batches(schedule):
    found = plan(schedule)
    assert len(tasks_of(found)) == TOTAL
    assert found == plan(schedule)
    if schedule in ("proportional", "annealed"):
        assert found != plan(schedule, seed=2)


def test_sequential_is_each_tasks_own_training_after_the_other():
    found = plan("sequential")
    assert tasks_of(found) == ["sst"] * 21 + ["sts"] * 6 + ["para"] * 75
    assert [phase.task for phase in found] == ["sst", "sts", "para"]
    assert checks(found)[:4] == [(7, None), (14, None), (21, "sst"), (23, None)]
    assert checks(found)[-1] == (TOTAL, "para")


def test_batches_are_numbered_by_task():
    for schedule in SCHEDULES:
        batches = [batch for step in numbered(plan(schedule)) for batch in step]
        for name in COURSES:
            own = [number for task, number in batches if task == name]
            assert own == list(range(len(own)))


@pytest.mark.parametrize("remedies", [(), ("pcgrad",)])
def test_round_robin_takes_turns(remedies):
    (phase,) = plan("round-robin", *remedies)
    assert tasks_of([phase]) == ["sst", "sts", "para"] * (TOTAL // 3)
    assert {len(step) for step in phase.steps} == ({3} if remedies else {1})
    assert checks([phase])[-1] == (len(phase.steps), None)


def shares(found, epochs, epoch):
    (phase,) = found
    size = len(phase.steps) // epochs
    counts = Counter(tasks_of([phase])[size * (epoch - 1) : size * epoch])
    return np.array([counts[name] for name in COURSES]) / size


@pytest.mark.parametrize(
    ("schedule", "epoch", "exponent"),
    [
        ("proportional", 5, 1.0),
        ("annealed", 1, 1.0),
        ("annealed", 3, 0.6),
        ("annealed", 5, 0.2),
    ],
)
def test_shares_follow_the_formula(schedule, epoch, exponent):
    """Stickland & Murray 2019, section 4.1: alpha = 1 - 0.8 (e - 1) / (E - 1)."""
    courses = {n: Course(c.examples, c.steps_per_epoch * 200, 5) for n, c in COURSES.items()}
    weights = np.array([400.0, 100.0, 1600.0]) ** exponent
    found = shares(plan(schedule, courses=courses), 5, epoch)
    assert np.allclose(found, weights / weights.sum(), atol=0.02)


def test_replay_mixes_a_share_of_earlier_tasks_into_later_phases():
    courses = {n: Course(c.examples, c.steps_per_epoch * 30, 3) for n, c in COURSES.items()}
    found = phases(JointConfig("sequential", ("replay",), 0.2), courses, 1)
    for phase, earlier in zip(found, [[], ["sst"], ["sst", "sts"]], strict=True):
        counts = Counter(tasks_of([phase]))
        assert counts.pop(phase.task) == courses[phase.task].steps
        assert sorted(counts) == sorted(earlier)
        if earlier:
            assert sum(counts.values()) / len(phase.steps) == pytest.approx(0.2, abs=0.005)
            assert max(counts.values()) - min(counts.values()) <= 1
            # Spread over the whole phase.
            first = Counter(tasks_of([phase])[: len(phase.steps) // 2])
            assert sum(first[name] for name in earlier) / (len(phase.steps) // 2) > 0.15
