"""Inputs of the part "sentiment"."""

import numpy as np

from assignment.drawing import Arrays, Draw
from heads.heads import SentimentHead


def _head(draw: Draw, rows: int) -> Arrays:
    features, hidden = draw.sizes(2, 4, 8)
    return {
        "in_features": np.array(features),
        "hidden": np.array(hidden),
        "features": draw.floats(rows, features),
        "labels": draw.ints(5, rows).astype(np.float32),
        **draw.weights(SentimentHead(int(features), int(hidden))),
    }


def several(draw: Draw) -> Arrays:
    """Return features and labels of a batch, and a head's weights."""
    return _head(draw, draw.size(6, 9))


def one(draw: Draw) -> Arrays:
    """Return those of a single text."""
    return _head(draw, 1)


def one_output(draw: Draw) -> Arrays:
    """Return features of a batch."""
    return {"features": draw.floats(draw.size(3, 5), 4), **draw.weights(_one_output())}


def _one_output() -> SentimentHead:
    return SentimentHead(4, 3, largest=0)
