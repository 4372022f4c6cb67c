"""The metrics of the three tasks by hand; the project itself uses scikit-learn's and SciPy's.

A correlation with a constant has no value: None, never NaN.
"""

import numpy as np


def accuracy(predictions: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of predictions (N,) that equal the labels (N,)."""
    return float((predictions == labels).mean())


def macro_f1(predictions: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean of the classes' F1, all classes that occur in either array counting alike.

    F1 of a class is 2 TP / (2 TP + FP + FN).
    """
    scores = []
    for one in np.union1d(predictions, labels):
        both = ((predictions == one) & (labels == one)).sum()
        # Each true positive is counted in both sums: 2 TP + FP + FN.
        scores.append(2 * both / ((predictions == one).sum() + (labels == one).sum()))
    return float(np.mean(scores))


def pearson(predictions: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the correlation of two arrays (N,), or None where one of them is constant."""
    x, y = predictions - predictions.mean(), labels - labels.mean()
    size = np.sqrt((x**2).sum() * (y**2).sum())
    return float((x * y).sum() / size) if size > 0 else None


def spearman(predictions: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the correlation of the ranks; equal numbers share the mean of their ranks."""
    return pearson(ranks(predictions), ranks(labels))


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each of N numbers from 1 on, (N,); equal ones share their mean rank."""
    # A number's rank: those below it, and the middle of those that equal it.
    below = (values[None, :] < values[:, None]).sum(axis=1)
    equal = (values[None, :] == values[:, None]).sum(axis=1)
    return below + (equal + 1) / 2
