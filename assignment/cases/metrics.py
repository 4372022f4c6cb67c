"""Cases of the part "metrics"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

# What others wrote of this part.
OTHERS = ("sklearn", "sklearn.metrics", "scipy", "scipy.stats")


def _arrays(given: Any) -> tuple[Any, Any]:
    return given["predictions"].numpy(), given["labels"].numpy()


def _number(name: str, value: float | None) -> dict[str, Tensor]:
    """Return a number, or that there is none."""
    told = {f"{name} is None": torch.tensor(value is None)}
    return told if value is None else {**told, name: torch.tensor(float(value)).double()}


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
    with given.own_work(*OTHERS):
        from assignment.starter.metrics import accuracy, macro_f1

        own = _number("macro F1", macro_f1(*_arrays(given)))
        return {**_number("accuracy", accuracy(*_arrays(given))), **own}


def draw_correlations(draw: Any) -> dict[str, Any]:
    """Return scores on no common scale, with ties on both sides."""
    labels = np.round(draw.random.uniform(0, 5, draw.size(12, 18)))
    predictions = np.round(3 + labels**2 + 4 * draw.random.standard_normal(len(labels)))
    predictions[:3] = predictions[3]
    return {"predictions": predictions, "labels": labels}


def correlations(given: Any) -> dict[str, Tensor]:
    """Pearson, ranks and Spearman of scores with ties."""
    with given.own_work(*OTHERS):
        return _correlations(*_arrays(given))


def _correlations(predictions: Any, labels: Any) -> dict[str, Tensor]:
    from assignment.starter.metrics import pearson, ranks, spearman

    found = np.asarray(ranks(predictions))
    # In the order of the numbers, and of equal ones in their own: which of those a sort puts first
    # depends on the machine, and Spearman with it.
    answers = _number("pearson", pearson(predictions, labels))
    in_order = found[np.lexsort((found, predictions))]
    answers["ranks, from the smallest number on"] = torch.tensor(in_order)
    if all(len(np.unique(found[predictions == one])) == 1 for one in predictions):
        answers |= _number("spearman", spearman(predictions, labels))
    return answers


def draw_undefined(draw: Any) -> dict[str, Any]:
    """Return predictions that are all alike."""
    count = draw.size(5, 9)
    return {"predictions": np.full(count, 2.0), "labels": draw.random.uniform(0, 5, count)}


def undefined(given: Any) -> dict[str, Tensor]:
    """Both correlations with a constant, on either side, which are None, and with the labels."""
    constant, labels = _arrays(given)
    answers: dict[str, Tensor] = {}
    with given.own_work(*OTHERS):
        from assignment.starter.metrics import pearson, spearman

        for name, metric in (("pearson", pearson), ("spearman", spearman)):
            answers |= _number(f"{name} of constant predictions", metric(constant, labels))
            answers |= _number(f"{name} of constant labels", metric(labels, constant))
            answers |= _number(f"{name} with itself", metric(labels, labels))
            answers |= _number(f"{name} with its negative", metric(-labels, labels))
    return answers
