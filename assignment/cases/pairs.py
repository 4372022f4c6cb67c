"""Cases of the part "pairs"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

FORMS = ("concat", "interaction")


def _answers(head: Any, given: Any) -> dict[str, Tensor]:
    return {
        "loss": head.loss(given["logits"], given["labels"]),
        **given.gradients(lambda logits: head.loss(logits, given["labels"]), "logits"),
        "predictions": head.predict(given["logits"]),
        "soft": head.soft(given["logits"]),
    }


def draw_similarity(draw: Any) -> dict[str, Any]:
    """Return logits and scores with decimals, those at both ends included."""
    largest = draw.size(6, 9)
    shares = np.concatenate([draw.random.uniform(0, 1, draw.size(4, 7)), [0, 1, 0.76]])
    scores = (largest * shares).astype(np.float32)
    return {"logits": 2 * draw.floats(len(scores)), "labels": scores, "largest": largest}


def similarity(given: Any) -> dict[str, Tensor]:
    """Loss and predictions of the similarity head."""
    from heads.heads import STSHead

    return _answers(STSHead(4, 3, largest=given.number("largest")), given)


def draw_paraphrase(draw: Any) -> dict[str, Any]:
    """Return logits, small and large ones of both signs, and labels."""
    logits = np.concatenate([2 * draw.floats(draw.size(4, 7)), [0.2, -0.3, 0.7, -2, 0]])
    labels = draw.ints(2, len(logits))
    return {"logits": logits.astype(np.float32), "labels": labels.astype(np.float32)}


def paraphrase(given: Any) -> dict[str, Tensor]:
    """Loss, predictions and probabilities of the paraphrase head."""
    from heads.heads import ParaphraseHead

    answers = _answers(ParaphraseHead(4, 3), given)
    kind = getattr(answers["predictions"], "dtype", torch.int64)
    if kind.is_floating_point or kind == torch.bool:
        given.remarks.append(f'"predictions" are {kind}; whole numbers are asked for')
    return answers


def draw_features(draw: Any) -> dict[str, Any]:
    """Return the embeddings of two texts of every example, of different lengths."""
    rows, size = draw.sizes(2, 3, 7)
    return {"first": 2 * draw.floats(rows, size), "second": 0.5 * draw.floats(rows, size)}


def features(given: Any) -> dict[str, Tensor]:
    """The two functions that features are made with."""
    from heads.features import interaction, unit_rms

    names = ("first", "second")
    return {
        "scaled": unit_rms(given["first"]),
        "scaled, of other lengths": unit_rms(given["second"]),
        "interaction": interaction(*(given[name] for name in names)),
        **given.gradients(lambda u, v: interaction(unit_rms(u), unit_rms(v)), *names),
    }


def draw_bi(draw: Any) -> dict[str, Any]:
    """Return the same."""
    return draw_features(draw)


def bi(given: Any) -> dict[str, Tensor]:
    """The bi-encoder's features of one text and of two, in both forms."""
    from heads.features import BiFeatures

    both = [given["first"], given["second"]]
    answers = {}
    for form in FORMS:
        answers[f"{form}, one text"] = BiFeatures(form).combine(both[:1])
        answers[f"{form}, two texts"] = BiFeatures(form).combine(both)
    return answers


def draw_cross(draw: Any) -> dict[str, Any]:
    """Return [CLS] and the means of both texts of joined pairs."""
    rows, size = draw.sizes(2, 4, 7)
    sizes = np.array([[1], [2], [0.5]], np.float32)
    return {"embeddings": draw.floats(rows, 3, size) * sizes}


def cross(given: Any) -> dict[str, Tensor]:
    """The cross-encoder's features in both forms."""
    from heads.features import CrossFeatures

    return {form: CrossFeatures(form).combine([given["embeddings"]]) for form in FORMS}
