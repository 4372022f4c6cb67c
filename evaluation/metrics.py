"""Accuracy, F1, Pearson and Spearman, from scikit-learn and scipy.

An undefined metric (the correlation of a constant) is None, never NaN. The two libraries take a
second to load, so they are imported on first use.
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from data.examples import Example
from data.tasks import RANKING, TASKS

Metrics = dict[str, float | None]
PartMetrics = dict[tuple[str, str], tuple[float | None, int]]  # (part, metric) -> value, rows

METRICS = ("accuracy", "f1", "pearson", "spearman")
AVERAGE_PRECISION = "average_precision"  # of the probabilities of yes
COSINE = "cosine_spearman"  # of the cosine similarity with the gold scores, without a head
SHOWN = {
    "accuracy": "accuracy",
    AVERAGE_PRECISION: "average precision",
    "f1": "F1",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "ndcg@10": "nDCG@10",
    "mrr@10": "MRR@10",
}


def is_labelled(examples: Sequence[Example]) -> bool:
    return bool(examples) and all(example.label is not None for example in examples)


def score_on(examples: Sequence[Example], task: str) -> Callable[[np.ndarray], float | None]:
    """Return the function that scores predictions of these examples, to choose epochs and rates."""
    labels, metric = labels_of(examples), TASKS[task].main_metric
    return lambda predictions: task_metrics(task, predictions, labels, [metric])[metric]


def labels_of(examples: Sequence[Example]) -> np.ndarray:
    """Return the labels (N,) of labelled examples, float64."""
    return np.array([example.label for example in examples], np.float64)


def task_metrics(
    task: str, predictions: np.ndarray, labels: np.ndarray, names: Sequence[str] | None = None
) -> Metrics:
    """Return the metrics of a task's predictions.

    Args:
        task: a name of data.tasks.TASKS, whose record names its metrics.
        predictions, labels: (N,) each. Of a search, predictions are (N, 4), the measures of each
            query in the order of RANKING, and labels are not read.
        names: only these metrics; None: all.

    Returns:
        Each metric, None where the task has none such or it is undefined. `f1` is binary for labels
        0 and 1 and macro over classes, which also have `f1_weighted`.

    Raises:
        ValueError: no rows, or arrays of unequal length.
    """
    if not len(labels) or len(labels) != len(predictions):
        raise ValueError(f"{len(predictions)} predictions for {len(labels)} labels")

    def f1(average: str) -> float:
        from sklearn.metrics import f1_score  # takes half a second, and similarities do not need it

        return float(f1_score(labels, predictions, average=average, zero_division=0))

    record = TASKS[task]
    if record.label_kind == "ranking":
        means = dict(zip(RANKING, predictions.mean(axis=0).tolist(), strict=True))
        return {name: means[name] for name in names} if names else dict.fromkeys(METRICS) | means
    measures: dict[str, Callable[[], float | None]] = {
        "accuracy": lambda: float((predictions == labels).mean()),
        "f1": lambda: f1("binary" if record.label_kind == "binary" else "macro"),
        "pearson": lambda: pearson(predictions, labels),
        "spearman": lambda: spearman(predictions, labels),
    }
    metrics = {
        name: measures[name]() if name in record.metrics else None for name in names or METRICS
    }
    if names is None and record.label_kind == "classes":
        metrics["f1_weighted"] = f1("weighted")
    return metrics


def row_errors(task: str, predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return each row's error, (N,): 0 or 1 for a class, the distance for a similarity.

    Unlike a correlation, it can be averaged over any few rows, such as those of one phenomenon.
    """
    distance = np.abs(predictions - labels)
    return distance if TASKS[task].label_kind == "score" else (distance > 0).astype(np.float64)


def pearson(predictions: np.ndarray, labels: np.ndarray) -> float | None:
    """Return Pearson's r, or None where one side is constant, empty or not finite."""
    varying = _varies(predictions) and _varies(labels)
    return float(scipy.stats.pearsonr(predictions, labels)[0]) if varying else None


def spearman(predictions: np.ndarray, labels: np.ndarray) -> float | None:
    """Return Spearman's rho, or None where one side is constant, empty or not finite."""
    varying = _varies(predictions) and _varies(labels)
    return float(scipy.stats.spearmanr(predictions, labels)[0]) if varying else None


def _varies(values: np.ndarray) -> bool:
    """Return whether values are finite, and not constant up to float32's rounding."""
    if not len(values) or not np.isfinite(values).all():
        return False
    return bool(np.ptp(values) > 1e-6 * max(1.0, float(np.abs(values).max())))


# --- thresholds on similarities


def best_threshold(similarities: np.ndarray, labels: np.ndarray, metric: str) -> float:
    """Return the threshold with the best `accuracy` or `f1`; pairs at or above it are positive.

    It lies halfway between two similarities that occur, so that rounding does not move a pair
    across it; infinite where all pairs, or none, are best called positive.
    """
    distinct, scores = threshold_scores(similarities.astype(np.float64), labels, metric)
    # Entry k: all pairs from the k-th distinct similarity on are positive; last entry: none.
    thresholds = [-np.inf, *(distinct[:-1] + distinct[1:]) / 2, np.inf]
    return float(thresholds[int(scores.argmax())])


def threshold_scores(
    similarities: np.ndarray, labels: np.ndarray, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return (distinct similarities (D,), `accuracy` or `f1` (D + 1,)) for all D + 1 thresholds.

    Entry k is the score if pairs are called positive from the k-th distinct similarity on; the
    last entry calls none positive. Equal similarities are never split.
    """
    distinct, places = np.unique(similarities, return_inverse=True)

    # All pairs from a similarity on are positive, so sum from the end; 0 for "none".
    def from_here_on(counts: np.ndarray) -> np.ndarray:
        return np.append(np.cumsum(counts[::-1])[::-1], 0)

    right = from_here_on(np.bincount(places, labels, len(distinct)))
    called = from_here_on(np.bincount(places, minlength=len(distinct)))
    positive = labels.sum()
    if metric == "accuracy":
        return distinct, (right + (len(labels) - positive) - (called - right)) / len(labels)
    # F1 = 2 TP / (called positive + positive), 0 where nothing is either.
    return distinct, 2 * right / np.maximum(called + positive, 1)
