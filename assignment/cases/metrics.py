"""Cases of the part "metrics"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

NO_VALUE = -9.0  # stands for None


def _arrays(given: Any) -> tuple[Any, Any]:
    return given["predictions"].numpy(), given["labels"].numpy()


def _number(value: float | None) -> Tensor:
    return torch.tensor(NO_VALUE if value is None else float(value), dtype=torch.float64)


def draw_classes(draw: Any) -> dict[str, Any]:
    """Return classes and predictions of them; one class is never predicted, one never right."""
    # Of an odd number, never just half are right: accuracy would equal the share of errors.
    labels = np.concatenate([draw.ints(3, 2 * draw.size(15, 20) + 1), [0, 1, 2, 3, 3, 3]])
    right = draw.random.random(len(labels)) < 0.5
    # Wrong answers are mostly class 0, so that precision and recall are far apart.
    predictions = np.where(right, labels, draw.ints(2, len(labels)))
    predictions[labels == 3] = 0
    predictions[:2] = 4
    return {"predictions": predictions, "labels": labels}


def classes(given: Any) -> dict[str, Tensor]:
    """Accuracy and F1 of five classes, some of which are never predicted or never right."""
    from assignment.starter.metrics import accuracy, macro_f1

    return {
        "accuracy": _number(accuracy(*_arrays(given))),
        "macro F1": _number(macro_f1(*_arrays(given))),
    }


def draw_correlations(draw: Any) -> dict[str, Any]:
    """Return scores on no common scale, with ties on both sides."""
    labels = np.round(draw.random.uniform(0, 5, draw.size(12, 18)))
    predictions = np.round(3 + labels**2 + 4 * draw.random.standard_normal(len(labels)))
    predictions[:3] = predictions[3]
    return {"predictions": predictions, "labels": labels}


def correlations(given: Any) -> dict[str, Tensor]:
    """Pearson, ranks and Spearman of scores with ties."""
    from assignment.starter.metrics import pearson, ranks, spearman

    predictions, labels = _arrays(given)
    return {
        "pearson": _number(pearson(predictions, labels)),
        "ranks": torch.as_tensor(ranks(predictions)),
        "spearman": _number(spearman(predictions, labels)),
    }


def draw_undefined(draw: Any) -> dict[str, Any]:
    """Return predictions that are all alike."""
    count = draw.size(5, 9)
    return {"predictions": np.full(count, 2.0), "labels": draw.random.uniform(0, 5, count)}


def undefined(given: Any) -> dict[str, Tensor]:
    """Both correlations with a constant, for which None is told as -9, and with the labels."""
    from assignment.starter.metrics import pearson, spearman

    predictions, labels = _arrays(given)
    return {
        "pearson": _number(pearson(predictions, labels)),
        "spearman": _number(spearman(predictions, labels)),
        "pearson with itself": _number(pearson(labels, labels)),
        "spearman with itself": _number(spearman(labels, labels)),
    }
