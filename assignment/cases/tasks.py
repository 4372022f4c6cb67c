"""Cases of the parts "sentiment", "pairs" and "metrics"."""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

FORMS = ("concat", "interaction")


def _heads() -> Any:
    return import_module("heads.heads")


def _features() -> Any:
    return import_module("heads.features")


# -------------------------------------------------------------------------------------- sentiment


def _draw_head(draw: Any, rows: int) -> dict[str, Any]:
    features, hidden = map(int, draw.sizes(2, 4, 8))
    largest = draw.size(5, 7)  # so that who counts on five classes is wrong
    return {
        "in_features": features,
        "hidden": hidden,
        "largest": largest,
        "features": draw.floats(rows, features),
        "labels": draw.ints(largest + 1, rows).astype(np.float32),
        "given logits": 2 * draw.floats(rows, largest + 1),
        **draw.weights(_heads().SentimentHead(features, hidden, largest=largest)),
    }


def draw_several(draw: Any) -> dict[str, Any]:
    return _draw_head(draw, draw.size(6, 9))


def several(given: Any) -> dict[str, Tensor]:
    """Logits, loss, predictions and probabilities of a batch."""
    sizes = given.number("in_features"), given.number("hidden")
    head = given.fill(_heads().SentimentHead(*sizes, largest=given.number("largest")))
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
    return _draw_head(draw, 1)


def one(given: Any) -> dict[str, Tensor]:
    """The same of a batch of one, which must stay a batch."""
    return several(given)


def draw_one_output(draw: Any) -> dict[str, Any]:
    """Return features of a batch."""
    features = draw.floats(draw.size(3, 5), 4)
    return {"features": features, **draw.weights(_heads().SentimentHead(4, 3, largest=0))}


def one_output(given: Any) -> dict[str, Tensor]:
    """The logits of a head with one output per example, of several and of one."""
    head = given.fill(_heads().SentimentHead(4, 3, largest=0))
    return {"logits": head(given["features"]), "logits of one": head(given["features"][:1])}


# ------------------------------------------------------------------------------------------ pairs


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
    return _answers(_heads().STSHead(4, 3, largest=given.number("largest")), given)


def draw_paraphrase(draw: Any) -> dict[str, Any]:
    """Return logits, small and large ones of both signs, and labels."""
    logits = np.concatenate([2 * draw.floats(draw.size(4, 7)), [0.2, -0.3, 0.7, -2, 0]])
    labels = draw.ints(2, len(logits))
    return {"logits": logits.astype(np.float32), "labels": labels.astype(np.float32)}


def paraphrase(given: Any) -> dict[str, Tensor]:
    """Loss, predictions and probabilities of the paraphrase head."""
    answers = _answers(_heads().ParaphraseHead(4, 3), given)
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
    interaction, unit_rms = _features().interaction, _features().unit_rms
    return {
        "scaled": unit_rms(given["first"]),
        "scaled, of other lengths": unit_rms(given["second"]),
        "interaction": interaction(given["first"], given["second"]),
        **given.gradients(lambda u, v: interaction(unit_rms(u), unit_rms(v)), "first", "second"),
    }


draw_bi = draw_features


def bi(given: Any) -> dict[str, Tensor]:
    """The bi-encoder's features of one text and of two, in both forms."""
    both = [given["first"], given["second"]]
    answers = {}
    for form in FORMS:
        features = _features().BiFeatures(form)
        answers[f"{form}, one text"] = features.combine(both[:1])
        answers[f"{form}, two texts"] = features.combine(both)
    return answers


def draw_cross(draw: Any) -> dict[str, Any]:
    """Return [CLS] and the means of both texts of joined pairs."""
    rows, size = draw.sizes(2, 4, 7)
    sizes = np.array([[1], [2], [0.5]], np.float32)
    return {"embeddings": draw.floats(rows, 3, size) * sizes}


def cross(given: Any) -> dict[str, Tensor]:
    """The cross-encoder's features in both forms."""
    of_form = _features().CrossFeatures
    return {form: of_form(form).combine([given["embeddings"]]) for form in FORMS}


# ---------------------------------------------------------------------------------------- metrics


def _metrics() -> Any:
    return import_module("assignment.starter.metrics")


def _arrays(given: Any) -> tuple[Any, Any]:
    return given["predictions"].numpy(), given["labels"].numpy()


def _number(name: str, value: float | None) -> dict[str, Tensor]:
    """Return a number, or that there is none."""
    answers = {f"{name} is None": torch.tensor(value is None)}
    return answers if value is None else {**answers, name: torch.tensor(float(value)).double()}


def draw_classes(draw: Any) -> dict[str, Any]:
    """Return classes and predictions of them; one class is never predicted, one never right."""
    # Of an odd number, never just half are right: accuracy would equal the share of errors.
    labels = np.concatenate([draw.ints(3, 2 * draw.size(30, 40) + 1), [0, 1, 2, 4, 4, 4]])
    labels[labels == 2] = 5
    right = draw.random.random(len(labels)) < np.select([labels == 5, labels == 1], [0.8, 0], 0.4)
    # Wrong answers are mostly class 0, so that precision and recall are far apart.
    predictions = np.where(right, labels, draw.ints(2, len(labels)))
    predictions[labels == 4] = 0
    predictions[-1] = 1
    predictions[:4] = [6, 6, 7, 8]  # and nothing is 2 or 3
    return {"predictions": predictions, "labels": labels}


def classes(given: Any) -> dict[str, Tensor]:
    """Accuracy and F1 of five classes, some of which are never predicted or never right."""
    macro_f1 = _number("macro F1", _metrics().macro_f1(*_arrays(given)))
    return {**_number("accuracy", _metrics().accuracy(*_arrays(given))), **macro_f1}


def draw_correlations(draw: Any) -> dict[str, Any]:
    """Return scores on no common scale, with ties on both sides.

    The ties of predictions are where a sort leaves them: in which order it does depends on the
    machine, and what `np.argsort` gives is a frequent mistake.
    """
    middle = 8.0 + np.cumsum(1 + draw.ints(3, draw.size(7, 11)))
    predictions = np.concatenate([[3.0] * 4, np.roll(middle, draw.size(1, 2)), [50.0] * 3])
    labels = np.round(predictions / 20 + draw.random.uniform(0, 5, len(predictions)))
    return {"predictions": predictions, "labels": labels}


def correlations(given: Any) -> dict[str, Tensor]:
    """Pearson, ranks and Spearman of scores with ties."""
    predictions, labels = _arrays(given)
    ranks = np.asarray(_metrics().ranks(predictions))
    answers = _number("pearson", _metrics().pearson(predictions, labels))
    # In the order of the numbers, and of equal ones in their own: which of those a sort puts
    # first depends on the machine, and Spearman with it.
    in_order = ranks[np.lexsort((ranks, predictions))]
    answers["ranks, from the smallest number on"] = torch.tensor(in_order)
    if all(len(np.unique(ranks[predictions == value])) == 1 for value in predictions):
        answers |= _number("spearman", _metrics().spearman(predictions, labels))
    return answers


def draw_undefined(draw: Any) -> dict[str, Any]:
    """Return predictions that are all alike."""
    count = draw.size(5, 9)
    return {"predictions": np.full(count, 2.0), "labels": draw.random.uniform(0, 5, count)}


def undefined(given: Any) -> dict[str, Tensor]:
    """Both correlations with a constant, on either side, which are None, and with the labels."""
    constant, labels = _arrays(given)
    answers: dict[str, Tensor] = {}
    for name in ("pearson", "spearman"):
        metric = getattr(_metrics(), name)
        answers |= _number(f"{name} of constant predictions", metric(constant, labels))
        answers |= _number(f"{name} of constant labels", metric(labels, constant))
        answers |= _number(f"{name} with itself", metric(labels, labels))
        answers |= _number(f"{name} with its negative", metric(-labels, labels))
    return answers
