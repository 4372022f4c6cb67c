"""Pair classification without a head: which similarities belong to positive pairs?

Two conventions, named apart. MTEB and sentence-transformers report accuracy and F1 at the threshold
that is best *on the scored split*, which no user has; a threshold chosen on training pairs is what
a user would have got. Average precision needs no threshold. Feeds: suites.
"""

import numpy as np

from evaluation.metrics import Metrics


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
        best thresholds of the scored split; `accuracy_train` and `f1_train` at the best thresholds
        of the training pairs, None without.
    """
    from sklearn.metrics import average_precision_score

    both = len(np.unique(labels)) == 2
    precision = float(average_precision_score(labels, similarities)) if both else None
    metrics: Metrics = {"average_precision": precision}
    for name, counted in (("accuracy", accuracies), ("f1", f1_scores)):
        metrics[f"{name}_best"] = float(counted(similarities, labels)[1].max())
        metrics[f"{name}_train"] = None
        if train_similarities is not None and train_labels is not None:
            threshold = best_threshold(train_similarities, train_labels, name)
            metrics[f"{name}_train"] = _at(threshold, similarities, labels, name)
    return metrics


def best_threshold(similarities: np.ndarray, labels: np.ndarray, metric: str) -> float:
    """Return the threshold with the best `accuracy` or `f1`; pairs at or above it are positive.

    It lies halfway between two similarities that occur, so that rounding does not move a pair
    across it; infinite where all pairs, or none, are best called positive.
    """
    counted = {"accuracy": accuracies, "f1": f1_scores}[metric]
    distinct, values = counted(similarities.astype(np.float64), labels)
    # Entry k calls positive all pairs from the k-th distinct similarity on; the last one, none.
    thresholds = [-np.inf, *(distinct[:-1] + distinct[1:]) / 2, np.inf]
    return float(thresholds[int(values.argmax())])


def accuracies(similarities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (distinct similarities (D,), accuracy (D + 1,)) for all D + 1 thresholds.

    Entry k is the accuracy if pairs are called positive from the k-th distinct similarity on; the
    last entry calls none positive. Equal similarities are never split.
    """
    distinct, positives, called = _calls(similarities, labels)
    negatives = called - positives
    total_negatives = len(labels) - labels.sum()
    return distinct, (positives + total_negatives - negatives) / len(labels)


def f1_scores(similarities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (distinct similarities (D,), F1 (D + 1,)) for all thresholds, as `accuracies` does."""
    distinct, positives, called = _calls(similarities, labels)
    # F1 = 2 TP / (called positive + positive), 0 where nothing is either.
    return distinct, 2 * positives / np.maximum(called + labels.sum(), 1)


def _calls(similarities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return distinct similarities (D,), and true and all positive calls per threshold (D + 1,)."""
    distinct, places = np.unique(similarities, return_inverse=True)
    found = np.bincount(places, labels, len(distinct))
    counts = np.bincount(places, minlength=len(distinct))

    # Positive are all pairs from a similarity on: sums from the end; 0 for "none".
    def from_here(values: np.ndarray) -> np.ndarray:
        return np.append(np.cumsum(values[::-1])[::-1], 0)

    return distinct, from_here(found), from_here(counts)


def _at(threshold: float, similarities: np.ndarray, labels: np.ndarray, metric: str) -> float:
    called = similarities >= threshold
    if metric == "accuracy":
        return float((called == (labels > 0)).mean())
    return float(2 * (called & (labels > 0)).sum() / max(1, called.sum() + labels.sum()))
