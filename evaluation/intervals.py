"""95 % intervals: how far a metric could be off with other rows, and with other seeds.

A bootstrap resample says how often it drew each row. Accuracy, F1 and Pearson's r are functions of
sums over rows, so one matrix product gives them for all resamples and all predictions. Spearman's
rho needs the ranks within each resample: sums along the order of the values, which is sorted once.

Legend: K metrics or differences, or predictions of all rows, N rows, B resamples or weightings,
S seeds, J sums, C classes.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from data.tasks import TASKS, Task
from evaluation.metrics import task_metrics

LEVEL = 0.95
RESAMPLES = 2000
MOST_BCA = 1000  # rows: the jackknife of BCa costs as much as one resample per row
IN_MEMORY = 2**17  # drawn rows at once: 1 MB per array, which stays in the processor's cache
FEWEST = 3  # rows; fewer have no spread to speak of
ROUNDING = 1e-12  # a spread of less is none
SEED = 0  # the same rows give the same interval
CONSTANT = 1e-9  # variance of standardised values below which there is nothing to correlate

Weighted = Callable[[np.ndarray], np.ndarray]  # weights (B, N) -> a metric (K, B)


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

    def of_rows(drawn: np.ndarray, axis: int) -> np.ndarray:
        # How often each of the n rows was drawn, (B, n), from the numbers of drawn rows (B, M).
        places = np.atleast_2d(drawn).astype(np.int64)
        places = places + n * np.arange(len(places))[:, None]
        counts = np.bincount(places.ravel(), minlength=n * len(places)).reshape(-1, n)
        values = statistic(counts.astype(np.float64))
        return values if drawn.ndim > 1 else values[:, 0]

    bca = accelerated and n <= MOST_BCA
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        # What has no BCa interval gets another one below.
        warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)
        result = scipy.stats.bootstrap(
            (np.arange(n),),
            of_rows,
            vectorized=True,
            confidence_level=LEVEL,
            n_resamples=RESAMPLES,
            batch=max(1, IN_MEMORY // n),
            method="BCa" if bca else "percentile",
            random_state=np.random.default_rng(SEED),
        )
    limits = np.stack(result.confidence_interval)  # (2, K)
    tails = np.quantile(result.bootstrap_distribution, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1)
    known = np.isfinite(limits).all(axis=0)
    low, high = np.where(known, limits, tails)
    methods = tuple("BCa" if bca and finite else "percentile" for finite in known)
    spread = np.ptp(result.bootstrap_distribution, axis=-1)
    error = np.where(spread > ROUNDING, result.standard_error, 0.0)
    return Bootstrap(low, high, error, methods)


# --- every metric for many weightings of the same rows at once


@dataclass(frozen=True)
class SumMetric:
    """A metric that is a function of sums over rows.

    Attributes:
        terms: predictions (K, N), labels (N,) -> what to sum over rows, (J, K, N).
        finish: the sums, (J, K, B) -> the metric, (K, B).
    """

    terms: Callable[[np.ndarray, np.ndarray], np.ndarray]
    finish: Callable[[np.ndarray], np.ndarray]


def sum_metric(name: str, task: Task) -> SumMetric:
    """Return accuracy, f1 (as `task_metrics` takes it) or pearson, of which Spearman's is one."""
    if name == "accuracy":
        return SumMetric(_accuracy_terms, lambda sums: sums[0] / sums[1])
    if name == "f1":
        classes = np.array([1] if task.kind == "binary" else range(task.num_classes))
        return SumMetric(lambda predictions, gold: _f1_terms(predictions, gold, classes), _f1)
    return SumMetric(_moments, _correlation)


def weighted_metric(name: str, task: Task, predictions: np.ndarray, labels: np.ndarray) -> Weighted:
    """Return a metric as a function of the weights of the rows.

    A weight counts how often a row is there. The correlation of what is constant within a
    weighting is 0 there, as it would be undefined; in samples of more than a few rows none is.

    Args:
        name: one of METRICS.
        task: its record decides which F1 it is.
        predictions: (K, N).
        labels: (N,).
    """
    if name == "spearman":
        orders, gold = [TiedOrder(row) for row in predictions], TiedOrder(labels)
        return lambda weights: _spearman(weights, orders, gold)
    metric = sum_metric(name, task)
    terms = metric.terms(predictions, labels)
    return lambda weights: metric.finish(terms @ weights.T)


def standardised(values: np.ndarray) -> np.ndarray:
    """Return (..., N) with mean 0 and variance 1 along the last axis; a constant becomes 0."""
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = centred.std(axis=-1, keepdims=True)
    return centred / np.where(spread > 0, spread, 1.0)


class TiedOrder:
    """The order of values (N,), from which their ranks under any weights follow unsorted."""

    def __init__(self, values: np.ndarray):
        self.order = np.argsort(values, kind="stable")
        _, self.place, counts = np.unique(values, return_inverse=True, return_counts=True)
        self.starts = np.cumsum(counts) - counts  # of each distinct value, along the order

    def ranks(self, weights: np.ndarray) -> np.ndarray:
        """Return the ranks (B, N) among weighted rows; equal values share the mean of theirs."""
        same = weights[:, self.order]
        if len(self.starts) < len(self.order):
            same = np.add.reduceat(same, self.starts, axis=1)  # (B, distinct)
        # Of m equal values, with c up to and with them, the mean rank is c - (m - 1) / 2.
        return (np.cumsum(same, axis=1) - (same - 1) / 2)[:, self.place]


def _accuracy_terms(predictions: np.ndarray, gold: np.ndarray) -> np.ndarray:
    right = (predictions == gold).astype(np.float64)
    return np.stack([right, np.ones_like(right)])


def _f1_terms(predictions: np.ndarray, gold: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return true positives of every class, then called plus true ones: (2C, K, N)."""
    called = predictions == classes[:, None, None]  # (C, K, N)
    true = gold == classes[:, None, None]
    return np.concatenate([called & true, called.astype(np.float64) + true])


def _f1(sums: np.ndarray) -> np.ndarray:
    """Return the mean over classes that occur of 2 TP / (called + true); 0 where none does."""
    hits, occur = np.split(sums, 2)
    scores = 2 * hits / np.maximum(occur, 1)
    return scores.sum(axis=0) / np.maximum((occur > 0).sum(axis=0), 1)


def _moments(predictions: np.ndarray, gold: np.ndarray) -> np.ndarray:
    # Standardised first, so that no digits cancel in the variances.
    x, y = np.broadcast_arrays(standardised(predictions), standardised(gold))
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])


def _correlation(sums: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = sums
    spread_x, spread_y = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
    defined = np.minimum(spread_x, spread_y) > CONSTANT
    scale = np.sqrt(np.where(defined, spread_x * spread_y, 1.0))
    return np.where(defined, (xy / n - x * y / n**2) / scale, 0.0)


def _spearman(weights: np.ndarray, orders: list[TiedOrder], gold: TiedOrder) -> np.ndarray:
    """Return Spearman's rho (K, B): Pearson's r of the ranks within each weighting."""
    n = weights.sum(axis=1, keepdims=True)

    def centred(order: TiedOrder) -> np.ndarray:
        return (order.ranks(weights) - (n + 1) / 2) / n  # the mean rank is (n + 1) / 2

    y = centred(gold)
    weighted_y = weights * y
    yy = np.einsum("bn,bn->b", weighted_y, y)
    rho = np.zeros((len(orders), len(weights)))
    for k, order in enumerate(orders):
        x = centred(order)
        xx, xy = np.einsum("bn,bn,bn->b", weights, x, x), np.einsum("bn,bn->b", weighted_y, x)
        scale = np.sqrt(xx * yy)
        rho[k] = np.divide(xy, scale, out=rho[k], where=scale > CONSTANT)
    return rho
