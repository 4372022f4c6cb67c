"""Where two models differ: their errors on the same rows, by what the rows are like.

Legend: N rows. Reads: intervals, examples, errors of both models. Feeds: report.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from data.examples import Example
from data.tasks import Task
from evaluation.intervals import IN_MEMORY, RESAMPLES, ROUNDING, SEED
from evaluation.properties import PROPERTIES

FEWEST = 20  # rows; the mean of fewer says little, and an interval would promise too much
# Rows up to which there are resamples, whose time grows with the square of the rows; of more rows
# the mean is as good as normal.
MOST_RESAMPLED = 2000

Group = tuple[str, str, np.ndarray]  # a property, its value, its rows (N,) bool


@dataclass(frozen=True)
class Slice:
    """Some rows of a split, and both models' mean errors on them.

    Attributes:
        by: the property that they share; "all" for all rows.
        name: its value.
        n: rows.
        bi, cross: mean errors (see evaluation.metrics.row_errors).
        difference: bi - cross: above 0 where the cross-encoder is ahead.
        low, high: the 95 % interval of the difference, each slice by itself: of twenty slices
            without any difference, one is expected to leave out 0. None where there are fewer than
            FEWEST rows, or all differ by the same.
    """

    by: str
    name: str
    n: int
    bi: float
    cross: float
    difference: float
    low: float | None
    high: float | None


def groups(examples: Sequence[Example], task: Task) -> list[Group]:
    """Return what rows are grouped by: all rows, then each property in the order of its values."""
    found: list[Group] = [("all", "all rows", np.ones(len(examples), bool))]
    for by, value_of in PROPERTIES.items():
        values = np.array([value_of(example, task) or "" for example in examples])
        names = sorted(set(values.tolist()) - {""}, key=_by_number)
        found += [(by, name, values == name) for name in names]
    return found


def slices(rows: Sequence[Group], bi: np.ndarray, cross: np.ndarray) -> list[Slice]:
    """Return the slices of a split.

    Args:
        rows: its groups; N is at least 1.
        bi, cross: (N,) errors of the two models; of several seeds, each row's mean error.

    Raises:
        ValueError: arrays of unequal length, or none.
    """
    n = len(rows[0][2])
    if not n == len(bi) == len(cross) > 0:
        raise ValueError(f"{len(bi)} and {len(cross)} errors for {n} examples")
    return [_slice(by, name, bi[own], cross[own]) for by, name, own in rows]


def paired_interval(first: np.ndarray, second: np.ndarray) -> tuple[float, float] | None:
    """Return the 95 % interval of mean(first) - mean(second) over the same rows.

    Rows are drawn, not values, so that what is hard for both models does not widen it. By the
    bias-corrected and accelerated bootstrap (Efron 1987) for up to MOST_RESAMPLED rows, by
    Student's t for more.

    Args:
        first, second: (N,) errors.

    Returns:
        None where N is below FEWEST, or all rows differ by the same, which leaves nothing to draw.
    """
    differences = first - second
    n = len(differences)
    if n < FEWEST or np.ptp(differences) < ROUNDING:
        return None
    # The difference of the means is the mean of the differences: one sample, paired by itself.
    if n > MOST_RESAMPLED:
        found = scipy.stats.ttest_1samp(differences, 0).confidence_interval()
    else:
        # Not intervals.bootstrap, whose weightings are for metrics: a plain mean is 4 times faster.
        draw = np.random.default_rng(SEED)
        found = scipy.stats.bootstrap(
            (differences,), np.mean, n_resamples=RESAMPLES, batch=IN_MEMORY // n, random_state=draw
        ).confidence_interval
    return float(found.low), float(found.high)


def _slice(by: str, name: str, bi: np.ndarray, cross: np.ndarray) -> Slice:
    means = float(bi.mean()), float(cross.mean())
    low, high = paired_interval(bi, cross) or (None, None)
    return Slice(by, name, len(bi), *means, means[0] - means[1], low, high)


def _by_number(name: str) -> tuple[float, str]:
    """Return a key that puts "6 to 10 words" before "11 to 20 words"; others come last."""
    first = name.split()[0]
    return (float(first) if first.replace(".", "").isdigit() else np.inf, name)
