"""Cases of the part "pairs"."""

from typing import Any

from torch import Tensor


def _answers(head: Any, given: Any) -> dict[str, Tensor]:
    return {
        "loss": head.loss(given["logits"], given["labels"]),
        "predictions": head.predict(given["logits"]),
        "soft": head.soft(given["logits"]),
    }


def similarity(given: Any) -> dict[str, Tensor]:
    """Loss and predictions of the similarity head."""
    from heads.heads import STSHead

    return _answers(STSHead(4, 3), given)


def paraphrase(given: Any) -> dict[str, Tensor]:
    """Loss, predictions and probabilities of the paraphrase head."""
    from heads.heads import ParaphraseHead

    return _answers(ParaphraseHead(4, 3), given)


def features(given: Any) -> dict[str, Tensor]:
    """The two functions that features are made with."""
    from heads.features import interaction, unit_rms

    return {
        "scaled": unit_rms(given["first"]),
        "interaction": interaction(given["first"], given["second"]),
    }


def bi(given: Any) -> dict[str, Tensor]:
    """The bi-encoder's features of one text and of two, in both forms."""
    from heads.features import BiFeatures

    both = [given["first"], given["second"]]
    answers = {}
    for form in ("concat", "interaction"):
        answers[f"{form}, one text"] = BiFeatures(form).combine(both[:1])
        answers[f"{form}, two texts"] = BiFeatures(form).combine(both)
    return answers


def cross(given: Any) -> dict[str, Tensor]:
    """The cross-encoder's features in both forms."""
    from heads.features import CrossFeatures

    return {form: CrossFeatures(form).combine([given["embeddings"]]) for form in FORMS}


FORMS = ("concat", "interaction")
