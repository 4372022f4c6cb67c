"""Similarity without a head: the cosine of two embeddings against the gold scores.

Reads: an `encode` function or similarities. Feeds: suites, checkpoint selection.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from data.examples import SentencePair
from evaluation.metrics import Metrics, pearson, spearman, task_metrics
from evaluation.scoring import labels_of

Encode = Callable[[Sequence[str]], np.ndarray]

CORRELATIONS = {"spearman": spearman, "pearson": pearson}


def cosine_scores(encode: Encode, pairs: Sequence[SentencePair]) -> np.ndarray:
    """Return the cosine of each pair's embeddings, (N,)."""
    first = encode([pair.text_a for pair in pairs])
    return pair_cosines(first, encode([pair.text_b for pair in pairs]))


def pair_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine of each row of `first` (N, H) and the same row of `second`, (N,)."""
    return (_unit(first) * _unit(second)).sum(axis=1)


def sts_metrics(encode: Encode, pairs: Sequence[SentencePair]) -> Metrics:
    """Return Pearson and Spearman of the cosines against the pairs' labels."""
    labels = labels_of(pairs)
    return task_metrics("sts", cosine_scores(encode, pairs), labels)


def selection_score(encode: Encode, pairs: Sequence[SentencePair]) -> float:
    """Return what checkpoints are selected by: Spearman, or -1 where embeddings rank nothing."""
    found = sts_metrics(encode, pairs)["spearman"]
    return -1.0 if found is None else found


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
        "all"; of several subsets also "mean", "wmean" and each of them.
    """
    sizes = {subset: len(scores) for subset, scores in gold.items()}
    found: dict[tuple[str, str], tuple[float | None, int]] = {}
    total = sum(sizes.values())
    for metric, correlation in CORRELATIONS.items():
        everything = (np.concatenate([side[n] for n in gold]) for side in (similarities, gold))
        found["all", metric] = (correlation(*everything), total)
        if len(gold) == 1:
            continue
        values = {name: correlation(similarities[name], gold[name]) for name in gold}
        found["mean", metric] = (_mean(values, dict.fromkeys(gold, 1)), total)
        found["wmean", metric] = (_mean(values, sizes), total)
        found |= {(name, metric): (value, sizes[name]) for name, value in values.items()}
    return found


def _mean(values: Mapping[str, float | None], weights: Mapping[str, int]) -> float | None:
    """Return the weighted mean, None where one of the values is undefined."""
    weighted = [value * weights[name] for name, value in values.items() if value is not None]
    return sum(weighted) / sum(weights.values()) if len(weighted) == len(values) else None


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
