"""Cases of the part "sentiment"."""

from typing import Any

from torch import Tensor


def _answers(given: Any) -> dict[str, Tensor]:
    from heads.heads import SentimentHead

    head = given.fill(SentimentHead(given.number("in_features"), given.number("hidden")))
    logits = head(given["features"])
    return {
        "logits": logits,
        "loss": head.loss(logits, given["labels"]),
        "predictions": head.predict(logits),
        "probabilities": head.soft(logits),
    }


def several(given: Any) -> dict[str, Tensor]:
    """Logits, loss, predictions and probabilities of a batch."""
    return _answers(given)


def one(given: Any) -> dict[str, Tensor]:
    """The same of a batch of one, which must stay a batch."""
    return _answers(given)


def one_output(given: Any) -> dict[str, Tensor]:
    """The logits of a head with one output per example."""
    from heads.heads import SentimentHead

    return {"logits": given.fill(SentimentHead(4, 3, largest=0))(given["features"])}
