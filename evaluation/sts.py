"""Similarity without a head: the cosine of two embeddings against the gold scores."""

from collections.abc import Callable, Sequence

import numpy as np

from data.examples import SentencePair
from evaluation.metrics import Metrics, task_metrics

Encode = Callable[[Sequence[str]], np.ndarray]


def cosine_scores(encode: Encode, pairs: Sequence[SentencePair]) -> np.ndarray:
    """Return the cosine of each pair's embeddings, (N,)."""
    first = encode([pair.text_a for pair in pairs])
    return pair_cosines(first, encode([pair.text_b for pair in pairs]))


def pair_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine of each row of `first` (N, H) and the same row of `second`, (N,)."""
    return (_unit(first) * _unit(second)).sum(axis=1)


def sts_metrics(encode: Encode, pairs: Sequence[SentencePair]) -> Metrics:
    """Return Pearson and Spearman of the cosines against the pairs' labels."""
    labels = np.array([pair.label for pair in pairs], np.float64)
    return task_metrics("sts", cosine_scores(encode, pairs), labels)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
