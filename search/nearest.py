"""Exact search by matrix products: the nearest rows of a query, and the most similar pairs.

Products of blocks find the candidates. Where the processor multiplies bfloat16 fast, such products
come first. They are wrong by little more than 0.01 at most, so they leave few candidates; where
they leave many, float32 products decide which to keep. The float64 cosines of the candidates decide
in the end, so nothing is lost, equal rows score equally wherever they stand, and ties go to the
lower row.

Legend: Q queries, L rows of the left block, n rows of a block, H dimensions, P pairs; all vectors
have length 1.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from runtime.device import choose_precision

# One candidate in so many takes as long to score exactly as a float32 product takes.
TOO_MANY = 100
# Pairs whose float64 cosines are computed at a time: 2 x 4,096 x 768 numbers are 50 MB.
RESCORED = 4096
# Rows of the left side of a product: 1,024 x 8,192 scores are 16 MB in bfloat16, which the third-
# level cache still holds; with 2,048, a quarter slower.
LEFT_ROWS = 1024

Pairs = tuple[np.ndarray, np.ndarray]  # cosines (P,) float64, rows (P, 2) int64


@dataclass(frozen=True)
class Scores:
    """Products of all rows of two blocks.

    Attributes:
        values: (L, n) float32 or bfloat16.
        error: by how much each of them is wrong at most.
    """

    values: torch.Tensor
    error: float

    def may_reach(self, floor: np.ndarray | float) -> np.ndarray:
        """Return which exact products may be `floor` or more, (L, n) bool.

        Args:
            floor: a number, or (L, 1).
        """
        least = np.asarray(floor - self.error, np.float32)
        if self.values.dtype == torch.float32 or least.min() <= 0:
            return np.asarray(self.values.float().numpy() >= least)
        # Read as integers, bfloat16 numbers above 0 keep their order and those below stay below:
        # NumPy compares these 10 times faster. One less: the floor may have been rounded up.
        bits = torch.from_numpy(least).bfloat16().view(torch.int16).numpy()
        return np.asarray(self.values.view(torch.int16).numpy() >= bits - np.int16(1))


def products(left: np.ndarray, right: np.ndarray, dtype: torch.dtype) -> Scores:
    """Return the products of all rows of `left` (L, H) with all rows of `right` (n, H)."""
    if len(left) == 1 and dtype == torch.float32:
        # NumPy's product with one row is as fast as memory is read, PyTorch's takes twice as long.
        values = torch.from_numpy(right @ left[0])[None]
    else:
        values = torch.from_numpy(left).to(dtype) @ torch.from_numpy(right).to(dtype).T
    return Scores(values, rounding(left.shape[1], dtype))


def rounding(dimensions: int, dtype: torch.dtype) -> float:
    """Return the most by which a product of unit vectors can be wrong.

    Sums are float32 either way: H * 2**-24 bounds their error in whatever order they are made
    (Higham 2002, equation 3.5), and 2**-24 more that of what they are compared with. In bfloat16
    both factors and the result are rounded, each by 2**-8 of itself at most, and the products of
    these errors are less than a tenth of that.
    """
    summed = (dimensions + 1) * 2.0**-24
    return summed if dtype == torch.float32 else summed + 3.1 * 2.0**-8


def hits(
    left: np.ndarray, right: np.ndarray, reached: Callable[[Scores], np.ndarray]
) -> np.ndarray:
    """Return the candidates among the pairs of rows of two blocks, (P, 2), row by row.

    Args:
        left: (L, H) float32.
        right: (n, H) float32.
        reached: which pairs are candidates, (L, n) bool, by their scores.
    """
    found, fast = np.empty(0), choose_precision("auto", torch.device("cpu"))
    # Casting a block takes longer than a float32 product with one row.
    for dtype in dict.fromkeys((fast if len(left) > 1 else torch.float32, torch.float32)):
        found = reached(products(left, right, dtype))
        if np.count_nonzero(found) * TOO_MANY <= found.size:
            break
    # Much faster than np.nonzero of a matrix with few trues.
    return np.stack(np.divmod(np.flatnonzero(found), len(right)), axis=1)


def cosines(left: np.ndarray, right: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the float64 dot products of pairs of rows, (P,); equal rows give equal ones.

    Args:
        left: (L, H).
        right: (n, H).
        pairs: (P, 2), a row of `left` and one of `right` each.
    """
    found = [np.empty(0)]
    for start in range(0, len(pairs), RESCORED):
        rows, columns = pairs[start : start + RESCORED].T
        # Row by row, each summed alike.
        found.append((left[rows].astype(np.float64) * right[columns]).sum(axis=1))
    return np.concatenate(found)


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
        found = _best_of_each(
            found, (pairs[:, 0], cosines(queries, block, pairs), pairs[:, 1] + first), k
        )
        first += len(block)
        if first >= k:
            floor = found[1].reshape(len(queries), k)[:, -1:]
    shape = (len(queries), min(k, first))
    return found[1].reshape(shape), found[2].reshape(shape)


def _best_of_each(
    kept: tuple[np.ndarray, ...], more: tuple[np.ndarray, ...], k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the k best of (query, cosine, row) entries, query by query, best first."""
    query, cosine, row = (np.concatenate(both) for both in zip(kept, more, strict=True))
    order = np.lexsort((row, -cosine, query))
    # Each entry's place among those of its query, from 0.
    places = np.arange(len(order)) - np.searchsorted(query[order], query[order])
    order = order[places < k]
    return query[order], cosine[order], row[order]


class PairSearch:
    """All pairs of rows of some blocks, compared block by block.

    Blocks are multiplied with one another once, the halves above the diagonal alone, and only pairs
    that may reach the threshold are kept of a product: there is never a matrix of all cosines.

    Attributes:
        blocks: (n, H) float32 each, in order; row 0 is the first block's first.
        threshold: the smallest cosine of a pair.
        tick: called with the number of cosines after each product; the square of the number of
            rows in all.
    """

    def __init__(
        self,
        blocks: Sequence[np.ndarray],
        threshold: float,
        tick: Callable[[int], Any] = lambda count: None,
    ):
        self.blocks, self.threshold, self.tick = blocks, threshold, tick

    def all(self) -> Iterator[Pairs]:
        """Yield all pairs, those of one product at a time, the lower row first."""
        return self._searched(lambda: self.threshold, None)

    def best(self, most: int) -> Pairs:
        """Return the most similar pairs, best first.

        Of equal cosines, the lower first row comes first, then the lower second row.

        Args:
            most: how many at most.
        """
        kept: Pairs = np.empty(0), np.empty((0, 2), np.int64)
        waiting: list[Pairs] = []
        count = 0  # of pairs that wait

        def floor() -> float:
            return float(kept[0][-1]) if len(kept[0]) == most else self.threshold

        for found in self._searched(floor, most):
            waiting.append(found)
            count += len(found[0])
            # Not after each product: sorting a million pairs takes longer than one.
            if count >= most:
                kept, waiting, count = _best([kept, *waiting], most), [], 0
        return _best([kept, *waiting], most)

    def _searched(self, floor: Callable[[], float], most: int | None) -> Iterator[Pairs]:
        """Yield the pairs of each product that has some; of very many, at least the best `most`."""
        starts = np.cumsum([0, *map(len, self.blocks)])
        for second, right in enumerate(self.blocks):
            for first, whole in enumerate(self.blocks[: second + 1]):
                for start in range(0, len(whole), LEFT_ROWS):
                    left = whole[start : start + LEFT_ROWS]
                    # On the diagonal, what is left of it was compared before.
                    skipped = start if first == second else 0
                    offsets = np.array([starts[first] + start, starts[second] + skipped])
                    least = floor()
                    pairs = _hits(left, right[skipped:], offsets, least, most)
                    cosine = cosines(left, right[skipped:], pairs)
                    enough = cosine >= least
                    if enough.any():
                        yield cosine[enough], pairs[enough] + offsets
                    self.tick(len(left) * len(right) * (1 if first == second else 2))


def _hits(
    left: np.ndarray, right: np.ndarray, offsets: np.ndarray, floor: float, most: int | None
) -> np.ndarray:
    """Return which rows of two blocks may have a cosine of `floor`, (P, 2)."""

    def reached(scores: Scores) -> np.ndarray:
        among = scores.may_reach(floor)
        if offsets[0] + len(left) > offsets[1]:  # blocks that overlap: each pair once
            rows, columns = (np.arange(len(side)) for side in (left, right))
            among &= rows[:, None] + offsets[0] < columns + offsets[1]
        if most is not None and np.count_nonzero(among) > most:
            kth = scores.values[torch.from_numpy(among)].topk(most).values[-1].item()
            among &= scores.may_reach(kth - scores.error)
        return among

    return hits(left, right, reached)


def _best(found: Sequence[Pairs], most: int) -> Pairs:
    """Return the best of the pairs in order."""
    cosine, pairs = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -cosine))[:most]
    return cosine[order], pairs[order]
