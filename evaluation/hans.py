"""HANS: does a model that learnt entailment judge by word overlap? (McCoy et al. 2019)

Every HANS pair has a hypothesis made of words of the premise, so overlap always says "entailment";
half of the pairs are not. Reads: pairs and a score of entailment for each. Feeds: suites.
"""

from collections.abc import Sequence

import numpy as np

from data.examples import SentencePair
from evaluation.scoring import labels_of

# The subcase in which two nouns change places: "the judge saw the clerk", "the clerk saw the
# judge". A bag of words cannot tell the two sentences apart.
SWAP = "ln_subject/object_swap"


def hans_metrics(
    pairs: Sequence[SentencePair], scores: np.ndarray, threshold: float
) -> dict[str, tuple[float | None, int]]:
    """Return {measure: (value, number of pairs)}.

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
    found: dict[str, tuple[float | None, int]] = {"accuracy": _mean(right)}
    for heuristic in dict.fromkeys(heuristics.tolist()):
        own = heuristics == heuristic
        for name, label in (("entailed", 1.0), ("not entailed", 0.0)):
            found[f"{heuristic}, {name}"] = _mean(right[own & (labels == label)])
        found[f"{heuristic}, AUC"] = (_auc(labels[own], scores[own]), int(own.sum()))
    swapped = np.char.endswith(tags.astype(str), SWAP)
    if swapped.any():
        found["word-order swap"] = _mean(right[swapped])
        # Does a pair that is entailed score higher than one whose nouns changed places?
        judged = swapped | ((labels > 0) & np.isin(heuristics, heuristics[swapped]))
        area = _auc(labels[judged], scores[judged])
        found["word-order swap, AUC"] = (area, int(judged.sum()))
    for tag in sorted(set(tags.tolist())):
        found[f"subcase {tag}"] = _mean(right[tags == tag])
    return found


def _mean(right: np.ndarray) -> tuple[float | None, int]:
    known = len(right) and not np.isnan(right).any()
    return (float(right.mean()) if known else None, len(right))


def _auc(labels: np.ndarray, scores: np.ndarray) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores)) if len(set(labels.tolist())) == 2 else None
