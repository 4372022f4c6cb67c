"""95% confidence intervals of metrics and their differences, over rows and seeds.

The interval of a metric is given by the percentiles of bootstrap resamples. Differences and means
over seeds use Student's t with the standard error of the resamples. A resample is a count for each
row; the rows of a cluster are drawn together. Accuracy, F1 and Pearson's r are functions of sums
over rows, so one matrix product gives them for all resamples and all predictions. Spearman's rho
needs the ranks within each resample: they are sums in the order of the values, which is sorted
once.

Legend: K metrics or differences, or predictions of all rows, N rows, G clusters, B resamples or
weightings, S seeds, J sums, C classes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy

from data.tasks import RANKING, TASKS, Task
from evaluation.clusters import alone, count
from evaluation.metrics import task_metrics

LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)  # the quantiles at its ends
POWER = 0.8
RESAMPLES = 4_000  # a bound of an interval 0.04 wide is off by 0.0004; 10,000 take twice as long
# Many rows need fewer resamples: the noise falls with rows times resamples.
FEWEST_RESAMPLES, DRAWN = 1000, 8_000_000
IN_MEMORY = 2**18  # drawn rows at once, 2 MB per array
KEPT = 2 * DRAWN  # bytes: draws up to this size are kept for the next metric
FEWEST = 3  # clusters; fewer give no useful spread
ROUNDING = 1e-12  # a smaller spread counts as 0
# Intervals of a table in folds are wider by this factor. The heads of two folds share most of their
# training rows, so the errors of the folds are not independent. Resampling rows does not show this
# (Bengio & Grandvalet 2004; Bates, Hastie & Tibshirani 2024). In simulations of 200 and 600 pairs,
# 82% to 93% of the plain 95% intervals held, and 92% to 97% of those that are wider by this factor,
# which was chosen on the same draws (docs/log.md).
IN_FOLDS = 1.3
SEED = 0  # the same rows give the same interval
LEAST = {"accuracy": 0, "f1": 0, "pearson": -1, "spearman": -1} | dict.fromkeys(RANKING, 0)
CONSTANT = 1e-9  # values with a smaller variance are constant

Weighted = Callable[[np.ndarray], np.ndarray]  # weights (B, N) -> a metric (K, B)


@dataclass(frozen=True)
class Interval:
    """A confidence interval over rows; `method` is percentile, t or exact."""

    low: float
    high: float
    method: str

    def within(self, least: float, most: float) -> "Interval":
        """Return the interval clipped to possible values: no F1 is below 0."""
        return replace(self, low=max(self.low, least), high=min(self.high, most))


def intervals(
    task: str,
    predictions: np.ndarray,
    labels: np.ndarray,
    clusters: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    wider: float = 1.0,
) -> dict[str, Interval | None]:
    """Return the 95% interval over rows of every metric that a task has.

    Args:
        task: a name of data.tasks.TASKS.
        predictions, labels: (N,) each.
        clusters: (N,) from `clusters_of`; None: every row is a cluster.
        names: metrics; None: all of the task's.
        wider: the factor of `widened`.

    Returns:
        None if the metric is undefined, if there are fewer than three clusters, or if all resamples
        agree, as for the F1 of a class that is never predicted. If all rows are right, or all
        wrong, the interval is the exact binomial one of Clopper and Pearson.
    """
    names = TASKS[task].metrics if names is None else names
    clusters = alone(len(labels)) if clusters is None else clusters
    by_metric: dict[str, Interval | None] = dict.fromkeys(names)
    if count(clusters) < FEWEST:
        return by_metric
    measures: dict[str, Weighted] = {}
    scores = task_metrics(task, predictions, labels, names)
    for name, value in scores.items():
        if value is None:
            continue
        if name == "accuracy" and value in (0.0, 1.0):
            by_metric[name] = exact_share(value, count(clusters))
        else:
            measures[name] = weighted_metric(name, TASKS[task], predictions[None], labels)
    if measures:
        values = resampled([*measures.values()], clusters)
        for name, row in zip(measures, values, strict=True):
            by_metric[name] = widened(percentiles(row), scores[name], wider, LEAST[name])
    return by_metric


def widened(
    interval: Interval | None, score: float | None, times: float, least: float
) -> Interval | None:
    """Return an interval with ends that are `times` as far from the score, between least and 1."""
    if interval is None or score is None or times == 1:
        return interval
    low, high = (score + times * (end - score) for end in (interval.low, interval.high))
    return Interval(low, high, interval.method).within(least, 1)


def exact_share(share: float, n: int) -> Interval:
    """Return the exact binomial interval of a share of n (Clopper & Pearson 1934)."""
    low, high = scipy.stats.binomtest(round(share * n), n).proportion_ci(LEVEL, method="exact")
    return Interval(float(low), float(high), "exact")


@dataclass(frozen=True)
class Spread:
    """The uncertainty of a mean: Student's t around it, with `freedom` degrees of freedom.

    `seeds_share` is the share of the variance between seeds, 0 to 1; the rest is between rows. It
    is None for one seed.
    """

    mean: float
    error: float
    freedom: float
    seeds_share: float | None = None

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval of the mean at a level."""
        reach = quantile((1 + level) / 2, self.freedom) * self.error
        return Interval(self.mean - reach, self.mean + reach, "t")

    def p(self, value: float = 0.0) -> float:
        """Return the two-sided p of a true mean of `value`: 0.05 at the 95% interval's ends."""
        distance = abs(self.mean - value)
        if distance <= ROUNDING:
            return 1.0
        if self.error == 0:
            return 0.0
        return float(2 * scipy.special.stdtr(self.freedom, -distance / self.error))

    def findable(self) -> float:
        """Return the smallest mean that this test can detect with 80% power.

        With many rows these are 2.8 standard errors: 1.96 to be significant, 0.84 for the power
        (Card et al. 2020).
        """
        reach = quantile(TAILS[1], self.freedom) + quantile(POWER, self.freedom)
        return reach * self.error


def quantile(share: float, freedom: float | None) -> float:
    """Return the quantile of Student's t, or of the normal distribution if `freedom` is None."""
    if freedom is None:
        return float(scipy.special.ndtri(share))
    return float(scipy.special.stdtrit(freedom, share))


def over_seeds(values: np.ndarray, error: float, n: int) -> Spread:
    """Return the uncertainty of the mean over S seeds on the same n clusters of rows.

    Rows and seeds both vary: the variance is that of the mean over rows, plus that between seeds
    divided by S. Student's t has Satterthwaite's degrees of freedom, S - 1 if seeds dominate, n - 1
    if rows do. Resampling three seeds would underestimate the variation between seeds. With one
    seed only the rows vary, and the result is about this seed.

    Args:
        values: (S,) one number per seed.
        error: the standard error over rows of their mean.
    """
    of_rows, of_seeds, others = error**2, 0.0, len(values) - 1
    if others:
        of_seeds = float(values.var(ddof=1)) / len(values)
    total, freedom = of_rows + of_seeds, float(n - 1)
    if total > 0 and others:
        freedom = total**2 / (of_rows**2 / (n - 1) + of_seeds**2 / others)
    share = of_seeds / total if total > 0 else 0.0
    return Spread(float(values.mean()), total**0.5, freedom, share if others else None)


# --- resamples of clusters


def resampled(
    measures: Sequence[Weighted], clusters: np.ndarray, total: int | None = None
) -> np.ndarray:
    """Return the K values of measures of the same rows in every resample of the clusters, (K, B).

    Memory is bounded by K and B, independently of N. There are at least 2 clusters, (N,). `total`
    resamples are drawn; None: the number of `resamples`.
    """
    blocks = [[measure(weights) for measure in measures] for weights in weightings(clusters, total)]
    return np.concatenate([np.concatenate(block) for block in blocks], axis=1)


def percentiles(values: np.ndarray) -> Interval | None:
    """Return the interval of a statistic in B resamples, (B,); None where all agree."""
    if np.ptp(values) <= ROUNDING:
        return None
    low, high = np.quantile(values, TAILS)
    return Interval(float(low), float(high), "percentile")


def standard_error(values: np.ndarray, units: int) -> float:
    """Return the standard error of a statistic from its values in B resamples, (B,).

    The variance over resamples of G clusters is too small by the factor (G - 1) / G, which is
    corrected; for a mean this gives the textbook's standard error. 0 if all resamples agree.
    """
    if np.ptp(values) <= ROUNDING:
        return 0.0
    return float(values.std(ddof=1)) * (units / (units - 1)) ** 0.5


def resamples(n: int) -> int:
    """Return the number of resamples of n rows: 4,000 up to 2,000 rows, then fewer."""
    return min(RESAMPLES, max(FEWEST_RESAMPLES, DRAWN // n))


def weightings(clusters: np.ndarray, total: int | None = None) -> Iterator[np.ndarray]:
    """Yield how often each row is drawn in resamples of the clusters, (B, N) at a time."""
    n, units = len(clusters), count(clusters)
    total = total or resamples(n)
    sizes = units, total, max(1, IN_MEMORY // n)
    for counts in _kept_draws(*sizes) if units * total <= KEPT else _draws(*sizes):
        yield counts.astype(np.float64)[clusters].T


def _draws(units: int, total: int, block: int) -> Iterator[np.ndarray]:
    """Yield how often each of G units is drawn in `total` resamples, (G, B) bytes at a time."""
    draw = np.random.default_rng(SEED)
    for start in range(0, total, block):
        many = min(block, total - start)
        drawn = draw.integers(0, units, (many, units))
        # Counted in one pass: unit u of resample b is number b * G + u.
        drawn += units * np.arange(many)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=many * units).astype(np.uint8)
        yield np.ascontiguousarray(counts.reshape(many, units).T)


@lru_cache(maxsize=2)  # all cells are scored on the same rows of dev and test
def _kept_draws(units: int, total: int, block: int) -> list[np.ndarray]:
    return list(_draws(units, total, block))


# --- every metric for many weightings of the same rows at once


@dataclass(frozen=True)
class SumMetric:
    """A metric that is a function of sums over rows."""

    # predictions (K, N), labels (N,) -> terms to sum over rows, (J, K, N)
    terms: Callable[[np.ndarray, np.ndarray], np.ndarray]
    # the sums, (J, K, B) -> the metric, (K, B)
    finish: Callable[[np.ndarray], np.ndarray]


def sum_metric(name: str, task: Task) -> SumMetric:
    """Return a metric as `task_metrics` takes it; Spearman's rho is Pearson's r of ranks."""
    if name == "accuracy":
        return SumMetric(_accuracy_terms, lambda sums: sums[0] / sums[1])
    if name in RANKING:  # the mean of a column of (K, N, 4)
        column = RANKING.index(name)
        return SumMetric(
            lambda measures, _: _and_ones(measures[..., column]), lambda s: s[0] / s[1]
        )
    if name == "f1":
        classes = np.array([1] if task.label_kind == "binary" else range(task.num_classes))
        return SumMetric(lambda predictions, gold: _f1_terms(predictions, gold, classes), _f1)
    return SumMetric(_moments, _correlation)


def weighted_metric(name: str, task: Task, predictions: np.ndarray, labels: np.ndarray) -> Weighted:
    """Return a metric of predictions (K, N) as a function of the weights of the rows.

    A weight is the count of a row. An undefined correlation, of values that are constant within a
    weighting, becomes 0; this hardly occurs in samples of more than a few rows.
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
    """The order of values (N,), which gives their ranks under any weights without sorting."""

    def __init__(self, values: np.ndarray):
        self.order = np.argsort(values, kind="stable")
        _, self.place, counts = np.unique(values, return_inverse=True, return_counts=True)
        self.starts = np.cumsum(counts) - counts  # of each distinct value, along the order

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Return the sums (M, B) of weights (N, B) over each of M distinct values, rising."""
        ordered = weights[self.order]
        if len(self.starts) == len(self.order):
            return ordered
        return np.asarray(np.add.reduceat(ordered, self.starts, axis=0))


def ranks(same: np.ndarray) -> np.ndarray:
    """Return the ranks (M, B) of rising values of which there are `same` (M, B)."""
    # Of m equal values, with c up to and with them, the mean rank is c - (m - 1) / 2.
    return np.cumsum(same, axis=0) - (same - 1) / 2


def _accuracy_terms(predictions: np.ndarray, gold: np.ndarray) -> np.ndarray:
    return _and_ones((predictions == gold).astype(np.float64))


def _and_ones(values: np.ndarray) -> np.ndarray:
    """Return values (K, N) and as many ones, whose sums give the mean: (2, K, N)."""
    return np.stack([values, np.ones_like(values)])


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
    weights = np.ascontiguousarray(weights.T)  # (N, B), contiguous for the sums below
    n = weights.sum(axis=0)

    def variance(same: np.ndarray) -> np.ndarray:
        # The variance of ranks 1 to n is (n^2 - 1) / 12; m ties reduce it by (m^3 - m) / 12n.
        return np.asarray((1 - np.einsum("mb,mb,mb->b", same, same, same) / n**3) / 12)

    same = gold.sums(weights)
    of_gold = variance(same)
    centred = weights * ((ranks(same) - (n + 1) / 2) / n)[gold.place]
    rho = np.zeros((len(orders), len(n)))
    for k, order in enumerate(orders):
        same = order.sums(weights)
        covariance = np.einsum("mb,mb->b", order.sums(centred), ranks(same)) / n**2
        scale = np.sqrt(variance(same) * of_gold)
        rho[k] = np.divide(covariance, scale, out=rho[k], where=scale > CONSTANT)
    return rho
