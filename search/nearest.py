"""Exact search by matrix products: the nearest rows of a query, and the most similar pairs.

Float32 products of blocks give candidates, with a margin for rounding. Their float64 cosines
decide. So no result is missed, equal rows have equal scores, and ties are resolved by the lower
row.

Legend: Q queries, L rows of the left block, n rows of a block, H dimensions, P pairs; all vectors
have length 1.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Pairs whose float64 cosines are computed at a time: 2 x 4,096 x 768 numbers are 50 MB.
RESCORED = 4096
# Rows of the left side of a product when pairs are searched: 512 x 16,384 scores are 32 MB.
LEFT_ROWS = 512

Pairs = tuple[np.ndarray, np.ndarray]  # cosines (P,) float64, rows (P, 2) int64


def products(left: np.ndarray, right: np.ndarray) -> Tensor:
    """Return the float32 products of all rows of two blocks, (L, n)."""
    if len(left) == 1:  # NumPy runs at memory speed, PyTorch takes twice as long
        return torch.from_numpy(right @ left[0])[None]
    return torch.from_numpy(left) @ torch.from_numpy(right).T


def rounding(dimensions: int) -> float:
    """Return a bound of the error of a float32 product of unit vectors.

    H * 2**-24 bounds the error of the sum in any order (Higham 2002, equation 3.5), and a further
    2**-24 that of the number it is compared with.
    """
    return (dimensions + 1) * 2.0**-24


def places(mask: Tensor) -> np.ndarray:
    """Return the rows and columns of true entries, (P, 2); fast if there are few."""
    return np.stack(np.divmod(np.flatnonzero(mask.numpy()), mask.shape[1]), axis=1)


def cosines(left: np.ndarray, right: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the float64 dot products of pairs (P, 2) of rows, (P,), equal for equal rows."""
    parts = [np.empty(0)]
    for start in range(0, len(pairs), RESCORED):
        rows, columns = pairs[start : start + RESCORED].T
        # Row by row, all in the same order of summation.
        parts.append((left[rows].astype(np.float64) * right[columns]).sum(axis=1))
    return np.concatenate(parts)


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
        scores = products(queries, block)
        mask = scores >= floor
        if len(block) >= k and mask.sum() > k * len(queries):
            # Many candidates only at first: k rows of this block reach its k-th best product.
            mask &= scores >= scores.topk(k).values[:, -1:] - 2 * error
        pairs = places(mask)
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


def similar_pairs(
    blocks: Sequence[np.ndarray],
    threshold: float,
    most: int | None = None,
    tick: Callable[[int], Any] = lambda count: None,
) -> Iterator[Pairs]:
    """Yield the pairs of rows whose cosine is at least `threshold`, the lower row of a pair first.

    Every two blocks are multiplied once, only above the diagonal, and only the candidates of a
    product are kept, so a matrix of all cosines is never stored.

    Args:
        blocks: (n, H) float32 each, in order; row 0 is the first block's first.
        threshold: the smallest cosine of a pair.
        most: None: all pairs, those of one product at a time, in no order. A number: the most
            similar pairs, yielded together, best first; of equal ones, the lower rows.
        tick: called with the number of cosines after each product; the square of the number of
            rows in all.
    """
    starts = np.cumsum([0, *map(len, blocks)])
    best: list[Pairs] = [(np.empty(0), np.empty((0, 2), np.int64))]
    waiting = 0  # unsorted pairs in `best`: sorting takes longer than a product
    for second, right in enumerate(blocks):
        for first, whole in enumerate(blocks[: second + 1]):
            for start in range(0, len(whole), LEFT_ROWS):
                left = whole[start : start + LEFT_ROWS]
                # In a block on the diagonal, rows above `start` are already compared.
                skipped = start if first == second else 0
                pairs = _candidates(left, right[skipped:], threshold, most, first == second)
                cosine = cosines(left, right[skipped:], pairs)
                enough = cosine >= threshold
                offsets = np.array([starts[first] + start, starts[second] + skipped])
                similar = cosine[enough], pairs[enough] + offsets
                if most is None:
                    yield similar
                else:
                    best.append(similar)
                    waiting += len(similar[0])
                    if waiting >= most:
                        best, waiting = [_best(best, most)], 0
                        threshold = best[0][0][-1]
                tick(len(left) * len(right) * (1 if first == second else 2))
    if most is not None:
        yield _best(best, most)


def _candidates(
    left: np.ndarray, right: np.ndarray, threshold: float, most: int | None, same: bool
) -> np.ndarray:
    """Return the rows of two blocks, (L, H) and (n, H), whose cosine may reach `threshold`, (P, 2).

    If there are more than `most`, the best `most` and their ties are enough. If `same`, `right`
    begins with the rows of `left`, and each pair is returned once.
    """
    error = rounding(left.shape[1])
    scores = products(left, right)
    mask = scores >= threshold - error
    if same:
        mask = mask.triu(1)
    if most is not None and mask.sum() > most:
        mask &= scores >= scores[mask].topk(most).values[-1] - 2 * error
    return places(mask)


def _best(parts: Sequence[Pairs], most: int) -> Pairs:
    """Return the best of the pairs in order."""
    cosine, pairs = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -cosine))[:most]
    return cosine[order], pairs[order]
