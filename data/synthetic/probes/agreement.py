"""Do two data sets order systems alike? Scores with standard errors, and Kendall's tau.

Legend: N rows, B resamples. Feeds: systems, validity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.stats import kendalltau, rankdata

RESAMPLES = 200  # enough for a standard error to a twentieth of itself
CLEAR = 2  # standard errors


@dataclass(frozen=True, eq=False)
class Scores:
    """The predictions of one system for the rows of one measure."""

    metric: str  # accuracy, pearson or spearman
    guesses: np.ndarray  # (N,)
    truth: np.ndarray  # (N,)

    @cached_property
    def value(self) -> float:
        """Return the metric."""
        return float(METRICS[self.metric](self.guesses, self.truth))

    @cached_property
    def resampled(self) -> np.ndarray:
        """Return the value on resamples of the rows, (B,); the same draws for every system."""
        count = len(self.truth)
        draws = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
        return METRICS[self.metric](self.guesses[draws], self.truth[draws])

    @property
    def error(self) -> float:
        """Return the standard error over rows."""
        return float(self.resampled.std(ddof=1))


def _accuracy(guesses: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.asarray((guesses == truth).mean(axis=-1))


def _pearson(guesses: np.ndarray, truth: np.ndarray) -> np.ndarray:
    x, y = (side - side.mean(axis=-1, keepdims=True) for side in (guesses, truth))
    spread = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    # A constant side gives no order: 0, as for a random order.
    return np.asarray((x * y).sum(axis=-1) / np.maximum(spread, 1e-12))


def _spearman(guesses: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return _pearson(rankdata(guesses, axis=-1), rankdata(truth, axis=-1))


# For predictions (..., N) and labels (..., N), along the last axis: a resample per row.
METRICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "accuracy": _accuracy,
    "pearson": _pearson,
    "spearman": _spearman,
}


def margin(first: Scores, second: Scores) -> tuple[float, float]:
    """Return the lead of the first over the second, and its standard error.

    Both are scored on the same rows, so the difficulty of rows for both cancels out.
    """
    error = (first.resampled - second.resampled).std(ddof=1)
    return first.value - second.value, float(error)


def tau(first: Mapping[str, Scores], second: Mapping[str, Scores]) -> float | None:
    """Return Kendall's tau-b over the systems in both; None if one side has no order."""
    systems = [name for name in first if name in second]
    values = [[scores[name].value for name in systems] for scores in (first, second)]
    if len(systems) < 2 or any(np.ptp(side) == 0 for side in values):
        return None
    return float(kendalltau(*values).statistic)


def told_apart(first: Mapping[str, Scores], second: Mapping[str, Scores]) -> tuple[int, int]:
    """Return (equally ordered pairs, pairs) among those that differ clearly in the second data set.

    Clearly means by CLEAR standard errors. Unlike the pairs of tau, these are not close to a tie:
    synthetic data cannot be expected to agree with a random order on real data.
    """
    alike = total = 0
    for a, b in combinations([name for name in first if name in second], 2):
        lead, error = margin(second[a], second[b])
        if abs(lead) > CLEAR * error:
            total += 1
            alike += (first[a].value - first[b].value) * lead > 0
    return alike, total
