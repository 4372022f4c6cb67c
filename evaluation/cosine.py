"""Similarity without a head: the cosine of two embeddings against the gold scores."""

from collections.abc import Callable, Sequence

import numpy as np

from data.examples import SentencePair
from evaluation.metrics import Metrics, labels_of, task_metrics

Encode = Callable[[Sequence[str]], np.ndarray]


def cosine_scores(encode: Encode, pairs: Sequence[SentencePair]) -> np.ndarray:
    """Return the cosine of each pair's embeddings, (N,)."""
    # One call: a text that occurs on both sides is encoded once.
    embeddings = encode([pair.text_a for pair in pairs] + [pair.text_b for pair in pairs])
    return pair_cosines(*np.split(embeddings, 2))


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
    """Return the score for checkpoint selection: Spearman, or -1 if it is undefined."""
    rho = sts_metrics(encode, pairs)["spearman"]
    return -1.0 if rho is None else rho
