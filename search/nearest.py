"""The nearest texts, exactly, in one pass over blocks of vectors.

The products of a block say which rows can be among the best; the float64 cosines of these few
decide. So equal rows score equally wherever they stand, and ties go to the lower row.
Legend: Q queries, n rows of a block, H dimensions; all vectors have length 1.
Reads: products. Feeds: the command line, unlabelled pairs.
"""

from collections.abc import Iterable

import numpy as np

from search.products import Scores, cosines, hits


def top_k(
    queries: np.ndarray, blocks: Iterable[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return each query's k nearest rows, best first; of equal ones, the lower row.

    Args:
        queries: (Q, H) float32.
        blocks: (n, H) float32 each, in order; row 0 is the first block's first.
        k: how many; all rows if there are fewer.

    Returns:
        Cosines (Q, k) float64 and row numbers (Q, k) int64.
    """
    found = (np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))  # query, cosine, row
    # What a row must score to be among the k best, (Q, 1).
    floor = np.full((len(queries), 1), -np.inf)
    first = 0

    def reached(scores: Scores) -> np.ndarray:
        among = scores.may_reach(floor)
        if scores.values.shape[1] >= k and np.count_nonzero(among) > k * len(queries):
            # So many only at first: k rows of this block are as good as its k-th best.
            kth = scores.values.topk(k).values[:, -1:].float().numpy()
            among &= scores.may_reach(kth - scores.error)
        return among

    for block in blocks:
        pairs = hits(queries, block, reached)
        found = _best(found, (pairs[:, 0], cosines(queries, block, pairs), pairs[:, 1] + first), k)
        first += len(block)
        if first >= k:
            floor = found[1].reshape(len(queries), k)[:, -1:]
    shape = (len(queries), min(k, first))
    return found[1].reshape(shape), found[2].reshape(shape)


def _best(
    kept: tuple[np.ndarray, ...], more: tuple[np.ndarray, ...], k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the k best of (query, cosine, row) entries, query by query, best first."""
    query, cosine, row = (np.concatenate(both) for both in zip(kept, more, strict=True))
    order = np.lexsort((row, -cosine, query))
    order = order[_places(query[order]) < k]
    return query[order], cosine[order], row[order]


def _places(sorted_queries: np.ndarray) -> np.ndarray:
    """Return each entry's place among those of its query, from 0, where these stand together."""
    return np.arange(len(sorted_queries)) - np.searchsorted(sorted_queries, sorted_queries)
