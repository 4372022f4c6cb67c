"""Inputs of the part "metrics"."""

import numpy as np

from assignment.drawing import Arrays, Draw


def classes(draw: Draw) -> Arrays:
    """Return classes and predictions of them; one class is never predicted, one never right."""
    # Of an odd number, never just half are right: accuracy would equal the share of errors.
    labels = np.concatenate([draw.ints(3, 2 * draw.size(15, 20) + 1), [0, 1, 2, 3, 3, 3]])
    right = draw.random.random(len(labels)) < 0.5
    # Wrong answers are mostly class 0, so that precision and recall are far apart.
    predictions = np.where(right, labels, draw.ints(2, len(labels)))
    predictions[labels == 3] = 0
    predictions[:2] = 4
    return {"predictions": predictions, "labels": labels}


def correlations(draw: Draw) -> Arrays:
    """Return scores on no common scale, with ties on both sides."""
    labels = np.round(draw.random.uniform(0, 5, draw.size(12, 18)))
    predictions = np.round(3 + labels**2 + 4 * draw.random.standard_normal(len(labels)))
    predictions[:3] = predictions[3]
    return {"predictions": predictions, "labels": labels}


def undefined(draw: Draw) -> Arrays:
    """Return predictions that are all alike."""
    count = draw.size(5, 9)
    return {"predictions": np.full(count, 2.0), "labels": draw.random.uniform(0, 5, count)}
