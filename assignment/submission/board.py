"""A ranking by the course's aggregate, and whether each place is really ahead of the next.

Neighbours are compared on the same rows: in each task's main metric by its paired test (McNemar,
paired permutation), in the aggregate by the interval of the difference. Holm's correction is over
the whole board, once for the aggregate and once for the tasks, which repeat its question.
Reads: scoring, evaluation.significance. Feeds: leaderboard, board_page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assignment.submission.scoring import (
    MOVER,
    aggregate,
    combined,
    main_metric,
    measured_as,
    p_value,
    weight,
)
from evaluation.intervals import Interval
from evaluation.metrics import task_metrics
from evaluation.significance import Comparison, Estimate, Pair, adjusted, compare

AGGREGATE = "aggregate"

Predictions = Mapping[str, np.ndarray]  # task -> (N,)


@dataclass(frozen=True)
class Place:
    """One submission: `rank` and `value` are None where the aggregate is undefined."""

    name: str
    rank: int | None
    value: float | None
    interval: Interval | None
    estimates: dict[str, Estimate]  # of each task's main metric


@dataclass(frozen=True)
class Board:
    """All that a leaderboard shows.

    Attributes:
        tasks: those that count.
        split: the split that counts.
        rows: how many examples each task has.
        places: the best first.
        ahead: each place against the next, in the aggregate.
        by_task: the same in each task's main metric.
        broken: name and first fault of each submission that cannot be scored.
    """

    tasks: tuple[str, ...]
    split: str
    rows: dict[str, int]
    places: list[Place]
    ahead: list[Comparison]
    by_task: dict[str, list[Comparison]]
    broken: list[tuple[str, str]]


def make_board(
    submissions: Mapping[str, Predictions],
    labels: Predictions,
    split: str,
    broken: Sequence[tuple[str, str]] = (),
) -> Board:
    """Return the leaderboard of submissions, predictions (N,) of each task by name."""
    scores = {name: _scores(found, labels) for name, found in submissions.items()}
    values = {name: aggregate(found) for name, found in scores.items()}
    # An undefined aggregate has no rank; names decide between equal ones.
    order = sorted(submissions, key=lambda name: (-_or_least(values[name]), name))
    pairs = list(pairwise(order))
    estimates: dict[str, dict[str, Estimate]] = {name: {} for name in order}
    by_task: dict[str, list[Comparison]] = {}
    for task, gold in labels.items() if order else ():
        systems = {name: {0: submissions[name][task]} for name in order}
        own, versus = compare(measured_as(task), main_metric(task), systems, gold, pairs)
        by_task[task] = versus
        for found in own:
            estimates[found.system][task] = found
    ahead = [_ahead(pair, k, values, by_task) for k, pair in enumerate(pairs)]
    places = [
        Place(name, _rank(name, order, values), values[name], interval, estimates[name])
        for name in order
        for interval in [_interval(values[name], estimates[name])]
    ]
    sizes = {task: len(gold) for task, gold in labels.items()}
    tested = _adjusted_together(by_task)
    return Board(tuple(labels), split, sizes, places, adjusted(ahead), tested, list(broken))


def _scores(found: Predictions, labels: Predictions) -> dict[str, float | None]:
    return {
        task: task_metrics(measured_as(task), found[task], gold)[main_metric(task)]
        for task, gold in labels.items()
    }


def _or_least(value: float | None) -> float:
    return -np.inf if value is None else value


def _rank(name: str, order: Sequence[str], values: Mapping[str, float | None]) -> int | None:
    """Return 1 for the best; equal aggregates share a rank."""
    if values[name] is None:
        return None
    return 1 + [values[other] for other in order].index(values[name])


def _interval(value: float | None, estimates: Mapping[str, Estimate]) -> Interval | None:
    if value is None:
        return None
    parts = [
        (weight(task, len(estimates)), found.mean, found.interval)
        for task, found in estimates.items()
    ]
    found = combined(value, parts)
    return found and found.within(0, 1)


def _ahead(
    pair: Pair,
    k: int,
    values: Mapping[str, float | None],
    by_task: Mapping[str, Sequence[Comparison]],
) -> Comparison:
    """Return the comparison of a place, the k-th, with the next in the aggregate."""
    (a, b), versus = (values[name] for name in pair), {t: v[k] for t, v in by_task.items()}
    n = sum(one.n for one in versus.values())
    if a is None or b is None:
        return Comparison(*pair, AGGREGATE, n, (0,), None, None, MOVER, None)
    parts = [(weight(task, len(versus)), one.difference, one.interval)
             for task, one in versus.items()]  # fmt: skip
    interval = combined(a - b, parts)
    return Comparison(*pair, AGGREGATE, n, (0,), a - b, interval, MOVER, p_value(a - b, interval))


def _adjusted_together(by_task: Mapping[str, Sequence[Comparison]]) -> dict[str, list[Comparison]]:
    """Return all comparisons with p values adjusted as one family."""
    family = iter(adjusted([one for versus in by_task.values() for one in versus]))
    return {task: [next(family) for _ in versus] for task, versus in by_task.items()}
