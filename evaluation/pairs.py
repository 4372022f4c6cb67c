"""Pairs as two classes, without a head: thresholds on similarities, and HANS.

Two conventions, named apart. MTEB and sentence-transformers report accuracy and F1 at the threshold
that is best *on the scored split*, which no user has; a threshold chosen on training pairs is what
a user would have got. Average precision needs no threshold.
"""

from collections.abc import Sequence

import numpy as np

from data.examples import SentencePair
from data.nli import HANS_LABELS
from evaluation.metrics import Metrics, labels_of

# The subcase in which two nouns change places: "the judge saw the clerk", "the clerk saw the
# judge". A bag of words cannot tell the two sentences apart.
SWAP = "ln_subject/object_swap"
SUBCASE = "subcase "  # before the name of one, as a metric


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
    for metric in ("accuracy", "f1"):
        distinct, scores = threshold_scores(similarities, labels, metric)
        metrics[f"{metric}_best"] = float(scores.max())
        metrics[f"{metric}_train"] = None
        if train_similarities is not None and train_labels is not None:
            threshold = best_threshold(train_similarities, train_labels, metric)
            metrics[f"{metric}_train"] = float(scores[np.searchsorted(distinct, threshold)])
    return metrics


def best_threshold(similarities: np.ndarray, labels: np.ndarray, metric: str) -> float:
    """Return the threshold with the best `accuracy` or `f1`; pairs at or above it are positive.

    It lies halfway between two similarities that occur, so that rounding does not move a pair
    across it; infinite where all pairs, or none, are best called positive.
    """
    distinct, scores = threshold_scores(similarities.astype(np.float64), labels, metric)
    # Entry k calls positive all pairs from the k-th distinct similarity on; the last one, none.
    thresholds = [-np.inf, *(distinct[:-1] + distinct[1:]) / 2, np.inf]
    return float(thresholds[int(scores.argmax())])


def threshold_scores(
    similarities: np.ndarray, labels: np.ndarray, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return (distinct similarities (D,), `accuracy` or `f1` (D + 1,)) for all D + 1 thresholds.

    Entry k is the score if pairs are called positive from the k-th distinct similarity on; the
    last entry calls none positive. Equal similarities are never split.
    """
    distinct, places = np.unique(similarities, return_inverse=True)

    # Positive are all pairs from a similarity on: sums from the end; 0 for "none".
    def from_here_on(counts: np.ndarray) -> np.ndarray:
        return np.append(np.cumsum(counts[::-1])[::-1], 0)

    right = from_here_on(np.bincount(places, labels, len(distinct)))
    called = from_here_on(np.bincount(places, minlength=len(distinct)))
    positive = labels.sum()
    if metric == "accuracy":
        return distinct, (right + (len(labels) - positive) - (called - right)) / len(labels)
    # F1 = 2 TP / (called positive + positive), 0 where nothing is either.
    return distinct, 2 * right / np.maximum(called + positive, 1)


def hans_metrics(
    pairs: Sequence[SentencePair], scores: np.ndarray, threshold: float
) -> dict[str, tuple[float | None, int]]:
    """Return {measure: (value, number of pairs)} of HANS (McCoy et al. 2019).

    Does a model that learnt entailment judge by word overlap? Every HANS pair has a hypothesis made
    of words of the premise, so overlap always says "entailment"; half of the pairs are not.

    Args:
        pairs: label 1.0 for entailment, else 0.0; phenomenon "HEURISTIC/SUBCASE".
        scores: (N,), higher for entailment.
        threshold: pairs at or above it are called entailment; NaN where there is none, and so no
            accuracy.

    Returns:
        `accuracy`; per heuristic, the accuracy on its entailed and its other pairs (HANS's table),
        and the area under the ROC curve, which needs no threshold; the accuracy per subcase; and
        `word-order swap`, the accuracy on swapped nouns, with the area under the curve of these
        pairs against the entailed ones of their heuristic: 0.5 for who cannot tell them apart.
    """
    labels = labels_of(pairs)
    right = np.where(np.isnan(threshold), np.nan, (scores >= threshold) == (labels > 0))
    tags = np.array([pair.phenomenon or "" for pair in pairs])
    heuristics = np.array([tag.partition("/")[0] for tag in tags])
    metrics: dict[str, tuple[float | None, int]] = {"accuracy": _mean(right)}
    for heuristic in dict.fromkeys(heuristics.tolist()):
        own = heuristics == heuristic
        for name, label in (("entailed", 1.0), ("not entailed", 0.0)):
            metrics[f"{heuristic}, {name}"] = _mean(right[own & (labels == label)])
        metrics[f"{heuristic}, AUC"] = (_auc(labels[own], scores[own]), int(own.sum()))
    swapped = np.char.endswith(tags.astype(str), SWAP)
    if swapped.any():
        metrics["word-order swap"] = _mean(right[swapped])
        # Does a pair that is entailed score higher than one whose nouns changed places?
        rows = swapped | ((labels > 0) & np.isin(heuristics, heuristics[swapped]))
        metrics["word-order swap, AUC"] = (_auc(labels[rows], scores[rows]), int(rows.sum()))
    for tag in sorted(set(tags.tolist())):
        metrics[SUBCASE + tag] = _mean(right[tags == tag])
    return metrics


def hans_predictions(pairs: Sequence[SentencePair], scores: np.ndarray, threshold: float) -> str:
    """Return predictions as HANS's own evaluation reads them: `pairID,gold_label`, a line a pair.

    Args:
        pairs, scores, threshold: as of `hans_metrics`.
    """
    lines = ["pairID,gold_label"]
    for pair, score in zip(pairs, scores, strict=True):
        lines.append(f"{pair.id},{HANS_LABELS[int(score >= threshold)]}")
    return "\n".join(lines) + "\n"


def _mean(right: np.ndarray) -> tuple[float | None, int]:
    known = len(right) and not np.isnan(right).any()
    return (float(right.mean()) if known else None, len(right))


def _auc(labels: np.ndarray, scores: np.ndarray) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores)) if len(set(labels.tolist())) == 2 else None
