"""Inputs of the part "pairs"."""

import numpy as np

from assignment.drawing import Arrays, Draw


def similarity(draw: Draw) -> Arrays:
    """Return logits and scores with decimals, those at both ends included."""
    scores = np.concatenate([draw.random.uniform(0, 5, draw.size(4, 7)), [0, 5, 3.8]])
    return {"logits": 2 * draw.floats(len(scores)), "labels": scores.astype(np.float32)}


def paraphrase(draw: Draw) -> Arrays:
    """Return logits, small and large ones of both signs, and labels."""
    logits = np.concatenate([2 * draw.floats(draw.size(4, 7)), [0.2, -0.3, 0.7, -2]])
    labels = draw.ints(2, len(logits))
    return {"logits": logits.astype(np.float32), "labels": labels.astype(np.float32)}


def features(draw: Draw) -> Arrays:
    """Return the embeddings of two texts of every example, of different lengths."""
    rows, size = draw.sizes(2, 3, 7)
    return {"first": 2 * draw.floats(rows, size), "second": 0.5 * draw.floats(rows, size)}


def bi(draw: Draw) -> Arrays:
    """Return the same."""
    return features(draw)


def cross(draw: Draw) -> Arrays:
    """Return [CLS] and the means of both texts of joined pairs."""
    rows, size = draw.sizes(2, 4, 7)
    return {"embeddings": draw.floats(rows, 3, size) * np.array([[1], [2], [0.5]], np.float32)}
