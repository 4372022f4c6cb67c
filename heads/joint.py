"""Joint training: the order of the tasks' batches, and replay against forgetting."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heads.config import JointConfig


@dataclass(frozen=True)
class Course:
    """The amount of training of a task, as in single-task training."""

    examples: int
    steps_per_epoch: int
    epochs: int

    @property
    def steps(self) -> int:
        return self.steps_per_epoch * self.epochs


@dataclass(frozen=True)
class Phase:
    """Steps during which the learning rates rise and fall once."""

    task: str | None  # that is trained; None for all tasks
    steps: tuple[str, ...]  # the task of each batch
    checks: int  # number of equal parts, with a dev score after each


def phases(config: JointConfig, courses: Mapping[str, Course], seed: int) -> list[Phase]:
    """Return the training as phases: one per task (sequential), or a single one.

    All schedules take as many batches as the single-task trainings in total.

    - sequential: task after task, each as if it were the only one (the report's table 3).
    - round-robin: the tasks in turn.
    - proportional: drawn with probability proportional to the tasks' examples.
    """
    draw = np.random.default_rng(seed)
    if config.schedule == "sequential":
        share = config.replay_share if "replay" in config.remedies else 0.0
        names = list(courses)
        return [
            Phase(task, _with_replay(task, course.steps, names[:k], share, draw), course.epochs)
            for k, (task, course) in enumerate(courses.items())
        ]
    total = sum(course.steps for course in courses.values())
    epochs = max(course.epochs for course in courses.values())
    if config.schedule == "round-robin":
        turns = -(-total // len(courses))
        return [Phase(None, tuple(courses) * turns, epochs)]
    return [Phase(None, _drawn(courses, total, draw), epochs)]


def checks(plan: Sequence[Phase]) -> list[tuple[int, str | None]]:
    """Return the steps of the dev checks, and the task that is then finished, if any.

    A phase is cut into as many parts as it has epochs.
    """
    ends: list[tuple[int, str | None]] = []
    start = 0
    for phase in plan:
        parts = min(phase.checks, len(phase.steps))
        ends += [(start + len(phase.steps) * part // parts, None) for part in range(1, parts)]
        start += len(phase.steps)
        ends.append((start, phase.task))
    return ends


def first_end(ends: Sequence[int], least_steps: int) -> int:
    """Return the first epoch, from 1, that ends after enough steps; the last if none does."""
    return 1 + sum(end < min(least_steps, ends[-1]) for end in ends)


def numbered(plan: Sequence[Phase]) -> list[tuple[str, int]]:
    """Return the batch of every step: its task and the number of the task's earlier batches."""
    counts: Counter[str] = Counter()
    batches = []
    for phase in plan:
        for task in phase.steps:
            batches.append((task, counts[task]))
            counts[task] += 1
    return batches


def _drawn(courses: Mapping[str, Course], total: int, draw: np.random.Generator) -> tuple[str, ...]:
    names = list(courses)
    sizes = np.array([course.examples for course in courses.values()], np.float64)
    rows = draw.choice(len(names), total, p=sizes / sizes.sum())
    return tuple(names[row] for row in rows.tolist())


def _with_replay(
    task: str, count: int, earlier: list[str], share: float, draw: np.random.Generator
) -> tuple[str, ...]:
    """Return `count` steps of a task, mixed with steps of earlier tasks, a `share` of the total."""
    replayed = round(count * share / (1 - share)) if earlier else 0
    steps = [task] * count + [earlier[row % len(earlier)] for row in range(replayed)]
    return tuple(steps[row] for row in draw.permutation(len(steps)).tolist())
