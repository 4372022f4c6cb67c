"""Exact search: the nearest rows of each query, by blocks.

Float32 products of blocks give candidates, with a margin for rounding. Their float64 cosines
decide. So no result is missed, equal rows have equal scores, and ties are resolved by the lower
row.

Legend: Q queries, n rows of a block, H dimensions, P pairs; all vectors have length 1.
"""

from collections.abc import Iterable

import numpy as np
import torch

# Pairs whose float64 cosines are computed at a time: 2 x 4,096 x 768 numbers are 50 MB.
RESCORED = 4096


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
    error = rounding(queries.shape[1])
    query, cosine, row = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)  # the best
    floor = torch.full((len(queries), 1), -torch.inf)  # the smallest product of a candidate
    first = 0
    for block in blocks:
        scores = torch.from_numpy(queries) @ torch.from_numpy(block).T  # (Q, H) x (H, n) -> (Q, n)
        mask = scores >= floor
        if len(block) >= k and mask.sum() > k * len(queries):
            # Many candidates only at first: k rows of this block reach its k-th best product.
            mask &= scores >= scores.topk(k).values[:, -1:] - 2 * error
        pairs = np.stack(np.divmod(np.flatnonzero(mask.numpy()), len(block)), axis=1)  # (P, 2)
        query = np.concatenate([query, pairs[:, 0]])
        cosine = np.concatenate([cosine, cosines(queries, block, pairs)])
        row = np.concatenate([row, pairs[:, 1] + first])
        order = np.lexsort((row, -cosine, query))
        # The position of each entry within its query, from 0.
        ranks = np.arange(len(order)) - np.searchsorted(query[order], query[order])
        order = order[ranks < k]
        query, cosine, row = query[order], cosine[order], row[order]
        first += len(block)
        if first >= k:
            kth = torch.from_numpy(cosine.reshape(len(queries), k)[:, -1:])
            floor = (kth - error).float()
    shape = (len(queries), min(k, first))
    return cosine.reshape(shape), row.reshape(shape)


def rounding(dimensions: int) -> float:
    """Return a bound of the error of a float32 product of unit vectors.

    H * 2**-24 bounds the error of the sum in any order (Higham 2002, equation 3.5), and a further
    2**-24 that of the number it is compared with.
    """
    return (dimensions + 1) * 2.0**-24


def cosines(left: np.ndarray, right: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the float64 dot products of pairs (P, 2) of rows, (P,), equal for equal rows."""
    parts = [np.empty(0)]
    for start in range(0, len(pairs), RESCORED):
        rows, columns = pairs[start : start + RESCORED].T
        # Row by row, all in the same order of summation.
        parts.append((left[rows].astype(np.float64) * right[columns]).sum(axis=1))
    return np.concatenate(parts)
