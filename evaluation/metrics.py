"""Accuracy, F1, Pearson and Spearman, from scikit-learn and scipy. Feeds: report.

A metric that has no value (the correlation of a constant) is None, never NaN.
"""

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

Metrics = dict[str, float | None]

METRICS = ("accuracy", "f1", "pearson", "spearman")
# What a checkpoint is chosen by, and what comparisons are made in.
MAIN_METRIC = {"sst": "accuracy", "para": "accuracy", "sts": "pearson"}


def task_metrics(task: str, predictions: np.ndarray, labels: np.ndarray) -> Metrics:
    """Return the metrics of a task's predictions.

    Args:
        task: `sst` (classes), `para` (0 or 1) or `sts` (scores).
        predictions, labels: (N,) each.

    Returns:
        All of METRICS, None where the task has no such metric or it is undefined. `f1` is binary
        for `para` and macro for `sst`, which has `f1_weighted` besides.

    Raises:
        ValueError: no rows, or arrays of unequal length.
    """
    if not len(labels) or len(labels) != len(predictions):
        raise ValueError(f"{len(predictions)} predictions for {len(labels)} labels")
    metrics: Metrics = dict.fromkeys(METRICS)
    if task == "sts":
        metrics["pearson"] = pearson(predictions, labels)
        metrics["spearman"] = spearman(predictions, labels)
        return metrics
    average = "binary" if task == "para" else "macro"
    metrics["accuracy"] = float(accuracy_score(labels, predictions))
    metrics["f1"] = float(f1_score(labels, predictions, average=average, zero_division=0))
    if task == "sst":
        metrics["f1_weighted"] = float(
            f1_score(labels, predictions, average="weighted", zero_division=0)
        )
    return metrics


def row_errors(task: str, predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return each row's error, (N,): 0 or 1 for a class, the distance for a similarity.

    Unlike a correlation it can be averaged over any few rows, those of one phenomenon for instance.
    """
    distance = np.abs(predictions - labels)
    return distance if task == "sts" else (distance > 0).astype(np.float64)


def pearson(predictions: np.ndarray, labels: np.ndarray) -> float | None:
    """Return Pearson's r, or None where one side is constant or not finite."""
    return None if _unrankable(predictions, labels) else float(pearsonr(predictions, labels)[0])


def spearman(predictions: np.ndarray, labels: np.ndarray) -> float | None:
    """Return Spearman's rho, or None where one side is constant or not finite."""
    return None if _unrankable(predictions, labels) else float(spearmanr(predictions, labels)[0])


def _unrankable(*arrays: np.ndarray) -> bool:
    """Constant, up to float32's rounding (noise on a constant is no ranking), or not finite."""
    return any(
        not np.isfinite(a).all() or np.ptp(a) <= 1e-6 * max(1.0, float(np.abs(a).max()))
        for a in arrays
    )
