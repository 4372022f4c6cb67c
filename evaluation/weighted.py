"""Every metric for many weightings of the same rows at once.

A bootstrap resample says how often it drew each row. Accuracy, F1 and Pearson's r are functions of
sums over rows, so one matrix product gives them for all resamples and all predictions. Spearman's
rho needs the ranks within each resample: sums along the order of the values, which is sorted once.

Legend: B weightings, N rows, K predictions of all rows, J sums, C classes. Feeds: intervals,
significance.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from data.tasks import Task

CONSTANT = 1e-9  # variance of standardised values below which there is nothing to correlate

Weighted = Callable[[np.ndarray], np.ndarray]  # weights (B, N) -> a metric (K, B)


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
        return SumMetric(lambda found, gold: _f1_terms(found, gold, classes), _f1)
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


def _accuracy_terms(found: np.ndarray, gold: np.ndarray) -> np.ndarray:
    right = (found == gold).astype(np.float64)
    return np.stack([right, np.ones_like(right)])


def _f1_terms(found: np.ndarray, gold: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return true positives of every class, then called plus true ones: (2C, K, N)."""
    called = found == classes[:, None, None]  # (C, K, N)
    true = gold == classes[:, None, None]
    return np.concatenate([called & true, called.astype(np.float64) + true])


def _f1(sums: np.ndarray) -> np.ndarray:
    """Return the mean over classes that occur of 2 TP / (called + true); 0 where none does."""
    hits, occur = np.split(sums, 2)
    scores = 2 * hits / np.maximum(occur, 1)
    return scores.sum(axis=0) / np.maximum((occur > 0).sum(axis=0), 1)


def _moments(found: np.ndarray, gold: np.ndarray) -> np.ndarray:
    # Standardised first, so that no digits cancel in the variances.
    x, y = np.broadcast_arrays(standardised(found), standardised(gold))
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
