"""Joint training: the order of the tasks' batches, and remedies for conflicting gradients.

Legend: N_i training examples of task i, K tasks, P numbers in the parameters that they share.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from heads.config import JointConfig
from runtime.processes import main_decides

Step = tuple[str, ...]  # the tasks that give a batch each; more than one for pcgrad


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
    steps: tuple[Step, ...]
    checks: int  # number of equal parts, with a dev score after each


def phases(config: JointConfig, courses: Mapping[str, Course], seed: int) -> list[Phase]:
    """Return the training as phases: one per task (sequential), or a single one.

    All schedules take as many batches as the single-task trainings in total.

    - sequential: task after task, each as if it were the only one (the report's table 3).
    - round-robin: the tasks in turn.
    - proportional: drawn with probability proportional to N_i.
    - annealed: to N_i ** alpha, alpha = 1 - 0.8 (e - 1) / (E - 1) in epoch e of E: at first large
      tasks come more often, in the end all nearly as often (Stickland & Murray 2019,
      arXiv:1902.02671, section 4.1).
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
        turn = tuple(courses)
        turns = -(-total // len(turn))
        # Surgery needs the gradients of all tasks at once: a whole turn is one step.
        steps = [turn] * turns if "pcgrad" in config.remedies else [(n,) for n in turn] * turns
        return [Phase(None, tuple(steps), epochs)]
    return [Phase(None, _drawn(config.schedule, courses, total, epochs, draw), epochs)]


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


def numbered(plan: Sequence[Phase]) -> list[list[tuple[str, int]]]:
    """Return the batches of every step: task and number of its earlier batches."""
    counts: Counter[str] = Counter()
    batches = []
    for phase in plan:
        for step in phase.steps:
            batches.append([(task, counts[task]) for task in step])
            counts.update(step)
    return batches


def _drawn(
    schedule: str, courses: Mapping[str, Course], total: int, epochs: int, draw: np.random.Generator
) -> tuple[Step, ...]:
    names = list(courses)
    sizes = np.array([course.examples for course in courses.values()], np.float64)
    steps: list[Step] = []
    for epoch in range(1, epochs + 1):
        alpha = 1 - 0.8 * (epoch - 1) / max(1, epochs - 1) if schedule == "annealed" else 1.0
        weights = sizes**alpha
        count = total * epoch // epochs - len(steps)
        rows = draw.choice(len(names), count, p=weights / weights.sum())
        steps += [(names[row],) for row in rows.tolist()]
    return tuple(steps)


def _with_replay(
    task: str, count: int, earlier: list[str], share: float, draw: np.random.Generator
) -> tuple[Step, ...]:
    """Return `count` steps of a task, mixed with steps of earlier tasks, a `share` of the total."""
    replayed = round(count * share / (1 - share)) if earlier else 0
    steps = [task] * count + [earlier[row % len(earlier)] for row in range(replayed)]
    return tuple((steps[row],) for row in draw.permutation(len(steps)).tolist())


def without_conflicts(gradients: Tensor) -> Tensor:
    """Return the sum of the tasks' gradients, each projected where it conflicts with another's.

    PCGrad (Yu et al. 2020, arXiv:2001.06782), algorithm 1: while g_i . g_j < 0, for the other tasks
    j in random order, g_i becomes g_i - (g_i . g_j) / |g_j|^2 g_j, where g_j is as it was. From
    (K, P) to (P,).
    """
    total = torch.zeros_like(gradients[0])
    squares = (gradients**2).sum(dim=1)
    for task, gradient in enumerate(gradients):
        projected = gradient.clone()
        # All processes take the same order, although their random generators differ.
        for other in main_decides(torch.randperm(len(gradients)).tolist()):
            product = projected @ gradients[other]
            # A zero gradient conflicts with no other.
            if other != task and product < 0:
                projected -= product / squares[other] * gradients[other]
        total += projected
    return total


def take_gradient(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Return the gradients in one row (P,), zeros where there is none, and clear them."""
    parts = []
    for parameter in parameters:
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        parts.append(gradient.flatten())
        parameter.grad = None
    return torch.cat(parts)


def put_gradient(parameters: Sequence[nn.Parameter], gradient: Tensor) -> None:
    """Make a row (P,) the gradients of the parameters."""
    parts = gradient.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter)
