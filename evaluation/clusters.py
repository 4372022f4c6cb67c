"""Rows that share a text are not independent: whatever is drawn at random, they are drawn together.

Pairs of Quora share questions, pairs of STS share sentences. A cluster is what a chain of shared
texts connects (Miller 2024, arXiv 2411.00640); a row that shares none is a cluster by itself.
"""

from collections.abc import Sequence

import numpy as np
import scipy

from data.examples import Example


def clusters_of(examples: Sequence[Example]) -> np.ndarray:
    """Return each row's cluster, (N,) numbers from 0 in the order of their first rows."""
    if not examples:
        return np.empty(0, np.int64)
    numbers: dict[str, int] = {}
    row, text = np.array(
        [
            (row, numbers.setdefault(text, len(numbers)))
            for row, example in enumerate(examples)
            for text in example.texts
        ]
    ).T
    # A graph of rows and texts, in which every row is tied to its texts.
    nodes = len(examples) + len(numbers)
    ties = scipy.sparse.coo_array((np.ones(len(row)), (row, len(examples) + text)), (nodes, nodes))
    _, found = scipy.sparse.csgraph.connected_components(ties, directed=False)
    return np.asarray(found[: len(examples)], np.int64)


def alone(n: int) -> np.ndarray:
    """Return the clusters of n rows that share nothing."""
    return np.arange(n)


def count(clusters: np.ndarray) -> int:
    """Return how many clusters there are."""
    return int(clusters.max()) + 1 if len(clusters) else 0
