"""95 % intervals: how far a metric could be off with other rows, and with other seeds.

Legend: K metrics or differences, N rows, B resamples, S seeds. Reads: weighted. Feeds: scoring,
significance.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy

from data.tasks import TASKS
from evaluation.metrics import task_metrics
from evaluation.weighted import Weighted, weighted_metric

LEVEL = 0.95
RESAMPLES = 2000
MOST_BCA = 1000  # rows: the jackknife of BCa costs as much as one resample per row
IN_MEMORY = 2**17  # drawn rows at once: 1 MB per array, which stays in the processor's cache
FEWEST = 3  # rows; fewer have no spread to speak of
ROUNDING = 1e-12  # a spread of less is none
SEED = 0  # the same rows give the same interval


@dataclass(frozen=True)
class Interval:
    """Where a number would lie with other rows; `method` says how that was found."""

    low: float
    high: float
    method: str

    def within(self, least: float, most: float) -> "Interval":
        """Return the part that is possible: no F1 is below 0."""
        return replace(self, low=max(self.low, least), high=min(self.high, most))


@dataclass(frozen=True)
class Bootstrap:
    """What resampling says of K numbers: interval and standard error, (K,) each."""

    low: np.ndarray
    high: np.ndarray
    error: np.ndarray
    methods: tuple[str, ...]

    def interval(self, k: int) -> Interval | None:
        """Return the interval of one number, None where all resamples agree."""
        if self.error[k] == 0:
            return None
        return Interval(float(self.low[k]), float(self.high[k]), self.methods[k])


def intervals(task: str, predictions: np.ndarray, labels: np.ndarray) -> dict[str, Interval | None]:
    """Return the 95 % interval of every metric that a task has, as `interval_of` does each."""
    names = TASKS[task].metrics
    return {name: interval_of(name, task, predictions, labels) for name in names}


def interval_of(
    metric: str, task: str, predictions: np.ndarray, labels: np.ndarray
) -> Interval | None:
    """Return the 95 % interval of a metric over rows.

    Args:
        metric: one of the task's metrics.
        task: a name of data.tasks.TASKS.
        predictions, labels: (N,) each.

    Returns:
        None where the metric is undefined, where there are fewer than three rows, and where all
        resamples agree, as for the F1 of a class that is never called. Rows that are all right, or
        all wrong, have the exact binomial interval of Clopper and Pearson.
    """
    value, n = task_metrics(task, predictions, labels)[metric], len(labels)
    if value is None or n < FEWEST:
        return None
    if metric == "accuracy" and value in (0.0, 1.0):
        return exact_share(value, n)
    measure = weighted_metric(metric, TASKS[task], predictions[None], labels)
    return bootstrap(measure, n).interval(0)


def exact_share(share: float, n: int) -> Interval:
    """Return the exact binomial interval of a share of n rows (Clopper & Pearson 1934)."""
    low, high = scipy.stats.binomtest(round(share * n), n).proportion_ci(LEVEL, method="exact")
    return Interval(float(low), float(high), "exact")


def over_seeds(values: np.ndarray, error: float, n: int) -> tuple[Interval, float]:
    """Return the interval of the mean over seeds, and the p value of its being 0.

    Rows and seeds both vary: the variance is that over rows, of the mean, plus that between seeds
    divided by S; Student's t has Satterthwaite's degrees of freedom, S - 1 if seeds decide, n - 1
    if rows do. Resampling three seeds would understate how much seeds vary.

    Args:
        values: (S,) one number per seed, S of at least 2.
        error: the standard error over rows of their mean.
        n: rows.
    """
    of_rows, of_seeds = error**2, values.var(ddof=1) / len(values)
    mean, total = float(values.mean()), of_rows + of_seeds
    if total == 0:
        return Interval(mean, mean, "t"), 1.0
    freedom = total**2 / (of_rows**2 / (n - 1) + of_seeds**2 / (len(values) - 1))
    student = scipy.stats.t(freedom, loc=mean, scale=total**0.5)
    low, high = student.interval(LEVEL)
    return Interval(float(low), float(high), "t"), float(2 * min(student.cdf(0), student.sf(0)))


def bootstrap(statistic: Weighted, n: int, accelerated: bool = True) -> Bootstrap:
    """Return the intervals of K statistics of the same n rows, from the same resamples.

    Bias-corrected and accelerated (BCa; Efron 1987) up to MOST_BCA rows; the percentiles of the
    resamples beyond that, and where BCa has no value. Memory is bounded, whatever n.

    Args:
        statistic: how often each row was drawn, (B, n) -> the statistics (K, B).
        n: rows, at least 2.
        accelerated: whether BCa is worth its time; standard errors do not need it.
    """

    def of_rows(rows: np.ndarray, axis: int) -> np.ndarray:
        found = statistic(_counts(np.atleast_2d(rows), n))
        return found if rows.ndim > 1 else found[:, 0]

    bca = accelerated and n <= MOST_BCA
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        # What has no BCa interval gets another one below.
        warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)
        result = scipy.stats.bootstrap(
            (np.arange(n),), of_rows, vectorized=True, confidence_level=LEVEL,
            n_resamples=RESAMPLES, batch=max(1, IN_MEMORY // n),
            method="BCa" if bca else "percentile", random_state=np.random.default_rng(SEED),
        )  # fmt: skip
    found = np.stack(result.confidence_interval)  # (2, K)
    tails = np.quantile(result.bootstrap_distribution, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1)
    known = np.isfinite(found).all(axis=0)
    low, high = np.where(known, found, tails)
    methods = tuple("BCa" if bca and one else "percentile" for one in known)
    spread = np.ptp(result.bootstrap_distribution, axis=-1)
    error = np.where(spread > ROUNDING, result.standard_error, 0.0)
    return Bootstrap(low, high, error, methods)


def _counts(rows: np.ndarray, n: int) -> np.ndarray:
    """Return how often each of n rows was drawn, (B, n), from the numbers of drawn rows (B, M)."""
    places = rows.astype(np.int64) + n * np.arange(len(rows))[:, None]
    return np.bincount(places.ravel(), minlength=n * len(rows)).reshape(-1, n).astype(np.float64)
