"""The nearest texts and the most similar pairs, exactly, by matrix products of blocks.

A float32 product of a block says which rows can be among the best; the float64 cosines of these few
decide. So equal rows score equally wherever they stand, and ties go to the lower row.
Legend: Q queries, N rows in all, n of a block, H dimensions; all vectors have length 1.
Feeds: the command line.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

# Rows of the left side of a product: 1,024 x 8,192 scores are 32 MB.
LEFT_ROWS = 1024
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
    found = (np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))  # query, cosine, row
    # What a row must score to be among the k best, (Q, 1).
    floor = np.full((len(queries), 1), -np.inf, np.float32)
    margin = rounding(queries.shape[1])
    first = 0
    for block in blocks:
        scores = _products(queries, block)  # (Q, n)
        reached = scores >= floor
        if len(block) >= k and np.count_nonzero(reached) > k * len(queries):
            # So many only at first: k rows of this block are as good as its k-th best.
            kth = torch.from_numpy(scores).topk(k).values[:, -1:].numpy()
            reached &= scores >= kth - margin
        hits = _positions(reached)
        cosines = _cosines(queries, hits[:, 0], block, hits[:, 1])
        found = _best(found, (hits[:, 0], cosines, hits[:, 1] + first), k)
        first += len(block)
        if first >= k:
            kth_found = found[1].reshape(len(queries), k)[:, -1:]
            floor = (kth_found - margin).astype(np.float32)
    shape = (len(queries), min(k, first))
    return found[1].reshape(shape), found[2].reshape(shape)


def most_similar_pairs(
    blocks: Sequence[np.ndarray],
    threshold: float,
    most: int,
    tick: Callable[[int], Any] = lambda count: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the most similar pairs of rows, best first, without a matrix of all cosines.

    Of equal cosines, the lower first row comes first, then the lower second row.

    Args:
        blocks: (n, H) float32 each, in order.
        threshold: the smallest cosine of a pair.
        most: how many pairs are returned at most.
        tick: called with the number of cosines after each product; N * N in all.

    Returns:
        Cosines (P,) float64 and rows (P, 2) int64, the lower row first.
    """
    cosines, pairs = np.empty(0), np.empty((0, 2), np.int64)
    starts = np.cumsum([0, *map(len, blocks)])
    margin = rounding(blocks[0].shape[1]) if blocks else 0.0
    for second, right in enumerate(blocks):
        for first, whole in enumerate(blocks[: second + 1]):
            for start in range(0, len(whole), LEFT_ROWS):
                left = whole[start : start + LEFT_ROWS]
                offsets = np.array([starts[first] + start, starts[second]])
                floor = max(threshold, cosines[-1] if len(cosines) == most else -np.inf)
                hits = _hits(left, right, floor - margin, most, offsets)
                found = _cosines(left, hits[:, 0], right, hits[:, 1])
                cosines = np.concatenate([cosines, found])
                pairs = np.concatenate([pairs, hits + offsets])
                order = np.lexsort((pairs[:, 1], pairs[:, 0], -cosines))
                order = order[cosines[order] >= threshold][:most]
                cosines, pairs = cosines[order], pairs[order]
                tick(len(left) * len(right) * (1 if first == second else 2))
    return cosines, pairs


def rounding(dimensions: int) -> float:
    """Return twice the most by which a float32 product of unit vectors can be wrong.

    H * 2**-24 bounds the error of a dot product in whatever order it is summed (Higham 2002,
    equation 3.5). Twice that is by how much two products can be in the wrong order.
    """
    return 2 * dimensions * 2.0**-24


def _hits(
    left: np.ndarray, right: np.ndarray, floor: float, most: int, offsets: np.ndarray
) -> np.ndarray:
    """Return which rows of two blocks score `floor` or more, (P, 2); of many, the best `most`."""
    scores = _products(left, right)
    if offsets[0] + len(left) > offsets[1]:  # blocks that overlap: each pair once, none with itself
        rows, columns = (np.arange(len(side)) for side in (left, right))
        scores[rows[:, None] + offsets[0] >= columns + offsets[1]] = -np.inf
    reached = scores >= floor
    if np.count_nonzero(reached) > most:
        kth = torch.from_numpy(scores[reached]).topk(most).values[-1].item()
        reached = scores >= kth - rounding(left.shape[1])
    return _positions(reached)


def _products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the float32 products of all rows of `left` with all rows of `right`."""
    return np.asarray((torch.from_numpy(left) @ torch.from_numpy(right).T).numpy())


def _positions(reached: np.ndarray) -> np.ndarray:
    """Return where a boolean matrix is true, (P, 2), row by row."""
    # Much faster than np.nonzero of a matrix with few trues.
    flat = np.flatnonzero(reached)
    return np.stack(np.divmod(flat, reached.shape[1]), axis=1)


def _cosines(
    left: np.ndarray, rows: np.ndarray, right: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the float64 dot products of rows of `left` with rows of `right`, (P,)."""
    found = [np.empty(0)]
    for start in range(0, len(rows), RESCORED):
        part = slice(start, start + RESCORED)
        # Row by row, each summed alike: equal rows give equal sums.
        products = left[rows[part]].astype(np.float64) * right[columns[part]]
        found.append(products.sum(axis=1))
    return np.concatenate(found)


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
