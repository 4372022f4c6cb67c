"""Similarity without a head: the cosine of two embeddings against the gold scores."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from data.examples import SentencePair
from evaluation.metrics import Metrics, labels_of, pearson, spearman, task_metrics

Encode = Callable[[Sequence[str]], np.ndarray]

CORRELATIONS = {"spearman": spearman, "pearson": pearson}


def cosine_scores(encode: Encode, pairs: Sequence[SentencePair]) -> np.ndarray:
    """Return the cosine of each pair's embeddings, (N,)."""
    first = encode([pair.text_a for pair in pairs])
    return pair_cosines(first, encode([pair.text_b for pair in pairs]))


def pair_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine of each row of `first` (N, H) and the same row of `second`, (N,)."""
    first, second = (
        side / np.linalg.norm(side, axis=1, keepdims=True).clip(1e-12) for side in (first, second)
    )
    return np.asarray((first * second).sum(axis=1))


def sts_metrics(encode: Encode, pairs: Sequence[SentencePair]) -> Metrics:
    """Return Pearson and Spearman of the cosines against the pairs' labels."""
    return task_metrics("sts", cosine_scores(encode, pairs), labels_of(pairs))


def selection_score(encode: Encode, pairs: Sequence[SentencePair]) -> float:
    """Return what checkpoints are selected by: Spearman, or -1 where embeddings rank nothing."""
    rho = sts_metrics(encode, pairs)["spearman"]
    return -1.0 if rho is None else rho


def set_metrics(
    similarities: Mapping[str, np.ndarray], gold: Mapping[str, np.ndarray]
) -> dict[tuple[str, str], tuple[float | None, int]]:
    """Return {(part, metric): (value, rows)} of a set of several subsets, such as a year's.

    Three ways to make one number of a year are in use, and they differ by several points: "all"
    correlates the rows of all subsets at once (SimCSE's papers, MTEB); "mean" and "wmean" are the
    mean of the subsets' correlations, plain or weighted by rows (SentEval).

    Args:
        similarities, gold: subset -> (N,).

    Returns:
        "all"; of several subsets also "mean", "wmean" and each of them. The means are None where
        one of the subsets has no value.
    """
    sizes = {subset: len(scores) for subset, scores in gold.items()}
    total = sum(sizes.values())
    metrics: dict[tuple[str, str], tuple[float | None, int]] = {}
    for metric, correlation in CORRELATIONS.items():
        joined = (
            np.concatenate([side[subset] for subset in gold]) for side in (similarities, gold)
        )
        metrics["all", metric] = (correlation(*joined), total)
        if len(gold) == 1:
            continue
        values = {subset: correlation(similarities[subset], gold[subset]) for subset in gold}
        known = {subset: value for subset, value in values.items() if value is not None}
        for part, weights in (("mean", dict.fromkeys(gold, 1)), ("wmean", sizes)):
            mean = None
            if len(known) == len(gold):
                mean = sum(v * weights[s] for s, v in known.items()) / sum(weights.values())
            metrics[part, metric] = (mean, total)
        metrics |= {(subset, metric): (value, sizes[subset]) for subset, value in values.items()}
    return metrics
