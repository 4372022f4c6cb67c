"""The scores of a split in results.json, all of them functions of what a run keeps of its rows.

Legend: N rows, M held-out training pairs, C classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from data.examples import Example
from data.overlap import Overlap, Seen, overlap
from data.tasks import TASKS
from evaluation.clusters import clusters_of
from evaluation.intervals import intervals
from evaluation.metrics import (
    AVERAGE_PRECISION,
    COSINE,
    best_threshold,
    labels_of,
    row_errors,
    spearman,
    task_metrics,
)

BINS = 15  # of equal width, as in Guo et al. 2017
ABOVE_ALL = float(np.nextafter(1.0, 2.0))  # the threshold that no probability reaches
AT_BEST = ("accuracy", "f1")  # metrics with a threshold of their own

Block = dict[str, Any]  # a part of a cell in results.json

# What is known of N rows, by name:
#     predictions     (N,)
#     soft            (N,) or (N, C), what is behind them, see heads.heads.Head.soft
#     before          (N,), predictions directly after the task's phase of a sequential training
#     swapped         like soft, of the pairs in the other order
#     cosines         (N,), the encoder's similarity of pairs that are scored, without a head
#     cls_cosines     (N,), that of the [CLS] states
#     cosine_calls    (N,), 1 from the threshold of the cosine on
#     accuracy_calls  (N,), 1 from the threshold on that is best for accuracy; f1_calls likewise
# `before` and what follows it are there where they apply; of similarities `soft` may be left out.
Rows = Mapping[str, np.ndarray]


def score_rows(
    task: str,
    examples: Sequence[Example],
    rows: Rows,
    seen: Seen,
    thresholds: Mapping[str, float] | None = None,
    wider: float = 1.0,
) -> Block:
    """Return the fields of a cell that its rows determine: those of `score_split` and more.

    Args:
        thresholds: of the head that is kept, to be reported; `n` of the pairs that chose them.
        wider: the factor of all intervals.
    """
    kind, labels, clusters = TASKS[task].label_kind, labels_of(examples), clusters_of(examples)
    scores = score_split(task, examples, rows["predictions"], seen, wider)
    if kind == "binary":
        scores["metrics"][AVERAGE_PRECISION] = average_precision(rows["soft"], labels)
    if kind != "score":
        scores["calibration"] = calibration(rows["soft"], labels)
    if "cosines" in rows:
        scores["metrics"][COSINE] = spearman(rows["cosines"], labels)
    if "cls_cosines" in rows:
        scores["cls_cosine"] = spearman(rows["cls_cosines"], labels)
    if "before" in rows:
        scores["before"] = task_metrics(task, rows["before"], labels)
    if "swapped" in rows:
        scores["both_orders"] = in_both_orders(
            task, rows["soft"], rows["swapped"], labels, clusters
        )
    if thresholds:
        scores["threshold"] = at_thresholds(task, rows, thresholds, labels, clusters, wider)
    return scores


def score_split(
    task: str,
    examples: Sequence[Example],
    predictions: np.ndarray,
    seen: Seen,
    wider: float = 1.0,
) -> Block:
    """Return `n`, `metrics`, `interval`, `overlap` and `phenomena` of a labelled split.

    `interval` holds low, high and method by metric, `wider` by this factor (see intervals).
    `overlap` is that of `scores_of`. `phenomena` holds `n` and the mean `error` (see row_errors) of
    the rows of each tag; it is {} without tags.
    """
    labels, shared = labels_of(examples), overlap(examples, seen)
    by_tag: dict[str, list[float]] = {}
    errors = row_errors(task, predictions, labels).tolist()
    for example, error in zip(examples, errors, strict=True):
        if example.phenomenon:
            by_tag.setdefault(example.phenomenon, []).append(error)
    phenomena = {
        tag: {"n": len(tagged), "error": sum(tagged) / len(tagged)}
        for tag, tagged in sorted(by_tag.items())
    }
    scores = scores_of(task, predictions, labels, clusters_of(examples), shared, wider)
    return {**scores, "phenomena": phenomena}


def scores_of(
    task: str,
    predictions: np.ndarray,
    labels: np.ndarray,
    clusters: np.ndarray,
    shared: Overlap,
    wider: float = 1.0,
) -> Block:
    """Return `n`, `metrics`, `interval` and `overlap` of predictions.

    `overlap` holds the shares of rows with a sentence, or with the whole pair, seen in training or
    selection (`shared`), and `metrics_on_rest`, the metrics on rows with nothing seen.
    """
    rest = ~shared.shared
    return {
        "n": len(labels),
        "metrics": task_metrics(task, predictions, labels),
        "interval": _intervals(task, predictions, labels, clusters, wider=wider),
        "overlap": {
            "sentences": shared.share_sentences,
            "pairs": shared.share_pairs,
            "n_rest": int(rest.sum()),
            "metrics_on_rest": (
                task_metrics(task, predictions[rest], labels[rest]) if rest.any() else {}
            ),
        },
    }


def average_precision(probabilities: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the average precision of N probabilities of yes, None without a positive row."""
    # Takes half a second to load, and similarities do not need it.
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(labels, probabilities)) if labels.any() else None


def best_thresholds(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the thresholds that are best for accuracy and for F1 on M held-out pairs, and `n`.

    Scored rows are not used for the choice, so a user would get their scores.
    """
    best = {name: best_threshold(probabilities, labels, name) for name in AT_BEST}
    # JSON has no infinity.
    thresholds = {name: float(np.clip(value, 0.0, ABOVE_ALL)) for name, value in best.items()}
    return {"n": len(labels), **thresholds}


def at_thresholds(
    task: str,
    rows: Rows,
    thresholds: Mapping[str, float],
    labels: np.ndarray,
    clusters: np.ndarray,
    wider: float = 1.0,
) -> Block:
    """Return `n`, and for accuracy and F1 the `threshold`, and `value` and `interval` of its calls.

    The threshold of the cosine is a number.
    """
    block: Block = {"cosine": thresholds["cosine"]} if "cosine" in thresholds else {}
    for metric in AT_BEST:
        calls = rows.get(f"{metric}_calls")
        # Both, or neither: there may be a threshold for every fold and none for all rows.
        if calls is not None and metric in thresholds:
            block["n"] = thresholds["n"]
            block[metric] = {
                "threshold": thresholds[metric],
                "value": task_metrics(task, calls, labels, [metric])[metric],
                "interval": _intervals(task, calls, labels, clusters, [metric], wider)[metric],
            }
    return block


def calibration(probabilities: np.ndarray, labels: np.ndarray) -> Block:
    """Return the expected calibration error and the reliability curve.

    A prediction's confidence is the probability of the predicted class. Calibrated means that a
    share of c is right among predictions with confidence c. The error is the mean distance of
    confidence and accuracy over bins, weighted by rows (Guo et al. 2017, eq. 3; 15 bins of equal
    width).

    Args:
        probabilities: (N, C) of the classes, or (N,) of the positive one of two.
        labels: (N,).

    Returns:
        `ece`, and `bins`: `n`, mean `confidence` and `accuracy` of each bin that is not empty.
    """
    from sklearn.calibration import calibration_curve

    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    confidence = probabilities.max(axis=1).clip(0.0, 1.0)  # rounding may exceed 1
    right = (probabilities.argmax(axis=1) == labels).astype(int)
    accuracy, mean = calibration_curve(right, confidence, n_bins=BINS, strategy="uniform")
    # The same bins as scikit-learn's, which does not say how many rows are in each.
    places = np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], confidence)
    counts = np.bincount(places, minlength=BINS)
    counts = counts[counts > 0]
    bins = zip(counts.tolist(), mean.tolist(), accuracy.tolist(), strict=True)
    return {
        "ece": float(np.average(np.abs(accuracy - mean), weights=counts)),
        "bins": [{"n": n, "confidence": c, "accuracy": a} for n, c, a in bins],
    }


def in_both_orders(
    task: str, forward: np.ndarray, swapped: np.ndarray, labels: np.ndarray, clusters: np.ndarray
) -> Block:
    """Return the scores of a cross-encoder averaged over both orders of a pair, and their gap.

    Args:
        forward, swapped: of the pairs (a, b) and (b, a): scores (N,), probabilities of the positive
            class (N,), or those of all classes (N, C).

    Returns:
        `metrics` and `interval` of the mean; `gap`, the mean distance of the two orders, in the
        unit of the scores; `changed`, the share of rows whose class changes, None for scores.
    """
    kind = TASKS[task].label_kind

    def predictions(soft: np.ndarray) -> np.ndarray:
        if kind == "score":
            return soft
        return (soft > 0.5 if kind == "binary" else soft.argmax(axis=1)).astype(np.float64)

    mean = predictions((forward + swapped) / 2)
    differ = predictions(forward) != predictions(swapped)
    return {
        "metrics": task_metrics(task, mean, labels),
        "interval": _intervals(task, mean, labels, clusters),
        "gap": float(np.abs(forward - swapped).mean()),
        "changed": None if kind == "score" else float(differ.mean()),
    }


def _intervals(
    task: str,
    predictions: np.ndarray,
    labels: np.ndarray,
    clusters: np.ndarray,
    names: Sequence[str] | None = None,
    wider: float = 1.0,
) -> Block:
    by_metric = intervals(task, predictions, labels, clusters, names, wider)
    return {metric: interval and asdict(interval) for metric, interval in by_metric.items()}
