"""Scores of a submission and the course's aggregate of them, with 95 % intervals.

The aggregate of CS224N's leaderboard is the mean over tasks of accuracy or, for similarities, of
(1 + r) / 2. Its interval is put together from those of the tasks, whose rows are independent, by
MOVER (Zou and Donner 2008): the distances from each part's value to its lower ends add up as
squares, and so do those to its upper ends. Feeds: score, leaderboard.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from assignment.submission.dialects import ASKED
from evaluation.intervals import LEVEL, Interval

MOVER = "MOVER"
WIDTH = float(stats.norm.ppf((1 + LEVEL) / 2))  # standard errors in half an interval


# A part of a sum: its weight, its value and its interval.
Part = tuple[float, float | None, Interval | None]


def measured_as(task: str) -> str:
    """Return the task of data.tasks whose metrics a task has: two classes are two classes."""
    return "para" if task == "cfimdb" else task


def main_metric(task: str) -> str:
    """Return the metric that the aggregate counts, "accuracy" or "pearson"."""
    return ASKED[task].main_metric


def filled(task: str, answers: Sequence[float | None], labels: np.ndarray) -> np.ndarray:
    """Return predictions (N,) in which every row has one.

    No answer counts as wrong: the class after the right one stands for it. Of similarities it is
    the mean of the answers given, which tells r nothing.

    Args:
        task: a name of dialects.ASKED.
        answers: of N rows, None for no answer.
        labels: (N,).
    """
    record = ASKED[task]
    given = [answer for answer in answers if answer is not None]
    if record.kind == "score":
        stand_in = np.full(len(labels), np.mean(given) if given else 0.0)
    else:
        stand_in = (labels + 1) % record.num_classes
    rows = zip(answers, stand_in, strict=True)
    return np.array([other if answer is None else answer for answer, other in rows], np.float64)


def weight(task: str, tasks: int) -> float:
    """Return how much the aggregate of so many tasks grows with a task's main metric."""
    return (0.5 if ASKED[task].kind == "score" else 1.0) / tasks


def aggregate(scores: Mapping[str, float | None]) -> float | None:
    """Return the course's aggregate of main metrics by task, None if one is undefined."""
    total = 0.0
    for task, score in scores.items():
        if score is None:
            return None
        total += (1 + score) / 2 if ASKED[task].kind == "score" else score
    return total / len(scores)


def combined(value: float, parts: Sequence[Part]) -> Interval | None:
    """Return the interval of a weighted sum of independent parts, by MOVER; weights are positive.

    Returns:
        None where no part has an interval, as all of its resamples agree.
    """
    below, above = 0.0, 0.0
    known = [(w, middle, found) for w, middle, found in parts if found and middle is not None]
    for w, middle, found in known:
        below += (w * (middle - found.low)) ** 2
        above += (w * (found.high - middle)) ** 2
    return Interval(value - below**0.5, value + above**0.5, MOVER) if known else None


def p_value(difference: float, interval: Interval | None) -> float | None:
    """Return the two-sided p of a difference being 0, from the side of its interval towards 0.

    It is below 0.05 exactly where the 95 % interval leaves out 0; None where that says nothing.
    """
    if difference == 0:
        return 1.0
    low, high = (interval.low, interval.high) if interval else (difference, difference)
    towards = difference - low if difference > 0 else high - difference
    if towards <= 0:
        return None
    return float(2 * stats.norm.sf(abs(difference) / towards * WIDTH))
