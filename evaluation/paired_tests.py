"""Tests of two systems on the same rows: could the difference between them be chance?

Legend: P pairs of systems, B resamples, N rows, J sums. Reads: weighted. Feeds: significance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from data.tasks import Task
from evaluation.intervals import SEED
from evaluation.weighted import standardised, sum_metric

SWAPS = 5000  # the least p is 0.0004, so that Holm over a hundred pairs leaves something to find
IN_MEMORY = 2**21  # rows times resamples at once, 100 MB; scipy has a step per row and batch


@dataclass(frozen=True)
class Williams:
    """Williams' test of two correlations that share the gold scores."""

    t: float
    df: int
    p: float


def mcnemar(right_a: np.ndarray, right_b: np.ndarray) -> float:
    """Return the exact two-sided p of McNemar's test: rows that only one has right are a coin's.

    Args:
        right_a, right_b: (N,) bool.
    """
    only_a, only_b = int((right_a & ~right_b).sum()), int((~right_a & right_b).sum())
    discordant = only_a + only_b
    return float(scipy.stats.binomtest(only_a, discordant).pvalue) if discordant else 1.0


def williams(r_a: float, r_b: float, r_ab: float, n: int) -> Williams | None:
    """Return Williams' t of two dependent correlations, two-sided.

    Williams (1959), as recommended by Steiger (1980, eq. 7): with the determinant |R| of the
    correlations of all three and the mean r of the two,
    t = (r_a - r_b) sqrt((n - 1)(1 + r_ab) / (2 |R| (n - 1)/(n - 3) + r^2 (1 - r_ab)^3)).

    Args:
        r_a, r_b: the correlations of a and of b with the gold scores.
        r_ab: that of a with b.
        n: rows; there are n - 3 degrees of freedom.

    Returns:
        None for fewer than four rows, or where the three are not distinct enough to divide by.
    """
    if n < 4:
        return None
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    below = 2 * determinant * (n - 1) / (n - 3) + ((r_a + r_b) / 2) ** 2 * (1 - r_ab) ** 3
    if below < 1e-12:
        return None
    t = (r_a - r_b) * ((n - 1) * (1 + r_ab) / below) ** 0.5
    return Williams(t, n - 3, float(2 * scipy.stats.t.sf(abs(t), n - 3)))


def swap_test(
    metric: str, task: Task, a: np.ndarray, b: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the two-sided p of P differences in a metric, (P,), by a paired permutation test.

    If a and b were equally good, it would not matter which of them a row's predictions are from:
    how often is the difference as large when each row's change places by a coin? Correlations are
    of standardised predictions, or for Spearman of ranks, as scales differ between systems.

    Args:
        metric: accuracy, f1, pearson or spearman.
        task: its record decides which F1 it is.
        a, b: (P, N) predictions.
        labels: (N,).
    """
    if metric == "spearman":
        a, b, labels = (scipy.stats.rankdata(values, axis=-1) for values in (a, b, labels))
    if metric in ("pearson", "spearman"):
        a, b = standardised(a), standardised(b)
    sums = sum_metric(metric, task)
    terms_a, terms_b = sums.terms(a, labels), sums.terms(b, labels)
    change = terms_b - terms_a  # (J, P, N)

    def differences(signs: np.ndarray, axis: int) -> np.ndarray:
        """Return the differences, (B, P), if the rows of negative sign (B, N) change places."""
        moved = change @ (np.atleast_2d(signs) < 0).astype(np.float64).T  # (J, P, B)
        first = sums.finish(terms_a.sum(axis=-1, keepdims=True) + moved)
        second = sums.finish(terms_b.sum(axis=-1, keepdims=True) - moved)
        # Differences are equal up to rounding when the same rows have changed places.
        found = (first - second).T.round(12)
        return found if signs.ndim > 1 else found[0]

    # One sample of "samples" means that its signs are flipped: each sign is a row's.
    result = scipy.stats.permutation_test(
        (np.ones(len(labels)),), differences, permutation_type="samples", vectorized=True,
        n_resamples=SWAPS, batch=max(1, IN_MEMORY // len(labels)),
        random_state=np.random.default_rng(SEED),
    )  # fmt: skip
    return np.asarray(result.pvalue)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm (1979); None is no test and does not count."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted
