"""Systems made by hand, for the tests of what their predictions say."""

import numpy as np

from data.tasks import TASKS


def gold_of(task, n, draw) -> np.ndarray:
    """Return n labels of a task, with ties."""
    return draw.integers(0, TASKS[task].num_classes, n).astype(float)


def system(task, gold, draw, skill=0.5) -> np.ndarray:
    """Return predictions of some skill: right more often, or nearer, the greater it is."""
    if TASKS[task].label_kind == "ranking":  # the measures of each query
        return (draw.random((len(gold), 4)) < skill) * draw.random((len(gold), 4))
    if TASKS[task].label_kind == "score":
        return (gold + draw.normal(0, 2 * (1 - skill) + 1e-3, len(gold))).round(1)
    return np.where(draw.random(len(gold)) < skill, gold, gold_of(task, len(gold), draw))
