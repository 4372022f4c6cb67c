"""Cases of the part "sentiment"."""

from typing import Any

import numpy as np
from torch import Tensor


def _draw_head(draw: Any, rows: int) -> dict[str, Any]:
    from heads.heads import SentimentHead

    features, hidden = map(int, draw.sizes(2, 4, 8))
    return {
        "in_features": features,
        "hidden": hidden,
        "features": draw.floats(rows, features),
        "labels": draw.ints(5, rows).astype(np.float32),
        **draw.weights(SentimentHead(features, hidden)),
    }


def draw_several(draw: Any) -> dict[str, Any]:
    """Return features and labels of a batch, and a head's weights."""
    return _draw_head(draw, draw.size(6, 9))


def several(given: Any) -> dict[str, Tensor]:
    """Logits, loss, predictions and probabilities of a batch."""
    from heads.heads import SentimentHead

    head = given.fill(SentimentHead(given.number("in_features"), given.number("hidden")))
    logits = head(given["features"])
    return {
        "logits": logits,
        "loss": head.loss(logits, given["labels"]),
        "predictions": head.predict(logits),
        "probabilities": head.soft(logits),
    }


def draw_one(draw: Any) -> dict[str, Any]:
    """Return those of a single text."""
    return _draw_head(draw, 1)


def one(given: Any) -> dict[str, Tensor]:
    """The same of a batch of one, which must stay a batch."""
    return several(given)


def draw_one_output(draw: Any) -> dict[str, Any]:
    """Return features of a batch."""
    from heads.heads import SentimentHead

    features = draw.floats(draw.size(3, 5), 4)
    return {"features": features, **draw.weights(SentimentHead(4, 3, largest=0))}


def one_output(given: Any) -> dict[str, Tensor]:
    """The logits of a head with one output per example."""
    from heads.heads import SentimentHead

    return {"logits": given.fill(SentimentHead(4, 3, largest=0))(given["features"])}
