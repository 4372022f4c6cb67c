"""Classes that have an order, such as very negative to very positive: how far off is a prediction?

Reads: arrays. Feeds: report.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Confusion:
    """What was predicted for each gold class, and the distance between the two.

    Attributes:
        n: rows.
        matrix: row = gold class, column = predicted class; each entry a number of rows.
        accuracy: share of rows on the diagonal.
        within_one: share of rows at most one class from it.
        mean_absolute_error: the mean distance in classes.
    """

    n: int
    matrix: list[list[int]]
    accuracy: float
    within_one: float
    mean_absolute_error: float


def confusion(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> Confusion:
    """Return the confusion of ordered classes.

    Args:
        predictions, labels: (N,) each, whole numbers from 0 to num_classes - 1; N at least 1.
        num_classes: C.

    Raises:
        ValueError: no rows, unequal lengths, or a class that is not there.
    """
    from sklearn.metrics import confusion_matrix, mean_absolute_error

    found = np.concatenate([predictions, labels])
    if not np.isin(found, np.arange(num_classes)).all():
        raise ValueError(f"a class that is none of 0 to {num_classes - 1}")
    distance = np.abs(predictions - labels)
    return Confusion(
        len(labels),
        confusion_matrix(labels, predictions, labels=np.arange(num_classes)).tolist(),
        float((distance == 0).mean()),
        float((distance <= 1).mean()),
        float(mean_absolute_error(labels, predictions)),
    )
