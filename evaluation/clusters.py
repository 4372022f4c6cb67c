"""Clusters of rows that share texts. They are not independent, so they are resampled together.

Pairs of Quora share questions, pairs of STS share sentences. A cluster is a set of rows connected
by shared texts (Miller 2024, arXiv 2411.00640). A row that shares no text is a cluster.
"""

from collections.abc import Sequence

import numpy as np

from data.examples import Example
from data.overlap import tied


def clusters_of(examples: Sequence[Example]) -> np.ndarray:
    """Return each row's cluster, (N,) numbers from 0 in the order of their first rows."""
    numbers: dict[str, int] = {}
    texts = [[numbers.setdefault(t, len(numbers)) for t in example.texts] for example in examples]
    return tied(np.array(texts)) if texts else np.empty(0, np.int64)


def alone(n: int) -> np.ndarray:
    """Return the clusters of n rows that share no text."""
    return np.arange(n)


def count(clusters: np.ndarray) -> int:
    return int(clusters.max()) + 1 if len(clusters) else 0
