"""Pairs as two classes, without a head: a threshold on similarities.

There are two conventions under different names. MTEB and sentence-transformers report accuracy and
F1 at the best threshold *of the scored split*, which a user does not know. A user would get the
scores at a threshold chosen on training pairs. Average precision needs no threshold.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from data.suites import read_pair_set
from evaluation.metrics import Metrics, best_threshold, labels_of, threshold_scores
from evaluation.suites.measured import (
    LoadedSet,
    Model,
    in_first,
    of_splits,
    pair_similarities,
    results_of,
    spread,
    whole,
)
from evaluation.suites.results import Result

# Training pairs for a threshold: more would take long to encode and change little.
MOST_PAIRS = 20_000


def read(folders: Sequence[Path], name: str) -> LoadedSet:
    """Return a set of data.suites.PAIR_SETS with at most MOST_PAIRS training pairs."""
    splits = in_first(read_pair_set, folders, name)
    return of_splits("pairs", name, replace(splits, train=spread(splits.train, MOST_PAIRS)))


def measure(model: Model, pairs: LoadedSet) -> list[Result]:
    """Return average precision, accuracy and F1 of the similarities as a classifier."""
    scores, labels = pair_similarities(model.embedder, pairs.scored), labels_of(pairs.scored)
    train: tuple[np.ndarray, ...] = ()
    if pairs.train:
        train = pair_similarities(model.embedder, pairs.train), labels_of(pairs.train)
    return results_of(
        model, pairs, lambda rows: whole(rows, pair_metrics(scores[rows], labels[rows], *train))
    )


def pair_metrics(
    similarities: np.ndarray,
    labels: np.ndarray,
    train_similarities: np.ndarray | None = None,
    train_labels: np.ndarray | None = None,
) -> Metrics:
    """Return average precision, and accuracy and F1 by both conventions.

    Args:
        similarities, labels: (N,) of the scored split; labels are 0 or 1.
        train_similarities, train_labels: (M,) of training pairs to choose thresholds on, or None.

    Returns:
        `average_precision`, None where all labels are equal; `accuracy_best` and `f1_best` at the
        best thresholds of the scored split; `accuracy_train` and `f1_train` at those of the
        training pairs, None without.
    """
    from sklearn.metrics import average_precision_score

    both = len(np.unique(labels)) == 2
    precision = float(average_precision_score(labels, similarities)) if both else None
    metrics: Metrics = {"average_precision": precision}
    for metric in ("accuracy", "f1"):
        distinct, scores = threshold_scores(similarities, labels, metric)
        metrics[f"{metric}_best"] = float(scores.max())
        metrics[f"{metric}_train"] = None
        if train_similarities is not None and train_labels is not None:
            threshold = best_threshold(train_similarities, train_labels, metric)
            metrics[f"{metric}_train"] = float(scores[np.searchsorted(distinct, threshold)])
    return metrics
