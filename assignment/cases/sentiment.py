"""Cases of the part "sentiment"."""

from typing import Any

import numpy as np
from torch import Tensor


def _draw_head(draw: Any, rows: int) -> dict[str, Any]:
    from heads.heads import SentimentHead

    features, hidden = map(int, draw.sizes(2, 4, 8))
    largest = draw.size(5, 7)  # so that who counts on five classes is wrong
    return {
        "in_features": features,
        "hidden": hidden,
        "largest": largest,
        "features": draw.floats(rows, features),
        "labels": draw.ints(largest + 1, rows).astype(np.float32),
        "given logits": 2 * draw.floats(rows, largest + 1),
        **draw.weights(SentimentHead(features, hidden, largest=largest)),
    }


def draw_several(draw: Any) -> dict[str, Any]:
    """Return features and labels of a batch, and a head's weights."""
    return _draw_head(draw, draw.size(6, 9))


def several(given: Any) -> dict[str, Tensor]:
    """Logits, loss, predictions and probabilities of a batch."""
    from heads.heads import SentimentHead

    sizes = given.number("in_features"), given.number("hidden")
    head = given.fill(SentimentHead(*sizes, largest=given.number("largest")))
    # What follows from logits can be right before they are.
    logits, name = given["given logits"], "given logits"
    return {
        "logits": head(given["features"]),
        **given.gradients(head, "features", module=head),
        "loss": head.loss(logits, given["labels"]),
        **given.gradients(lambda x: head.loss(x, given["labels"]), name),
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
    """The logits of a head with one output per example, of several and of one."""
    from heads.heads import SentimentHead

    head = given.fill(SentimentHead(4, 3, largest=0))
    return {"logits": head(given["features"]), "logits of one": head(given["features"][:1])}
