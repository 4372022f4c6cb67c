"""The most similar pairs of rows, or all above a threshold, without a matrix of all cosines.

Blocks are multiplied with one another once, the halves above the diagonal alone, and only pairs
that may reach the threshold are kept of a product.
Legend: n rows of a block, H dimensions, P pairs; all vectors have length 1.
Reads: products. Feeds: the command line.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from search.products import Scores, cosines, hits

# Rows of the left side of a product: 1,024 x 8,192 scores are 16 MB in bfloat16, which the third-
# level cache still holds; with 2,048, a quarter slower.
LEFT_ROWS = 1024

Found = tuple[np.ndarray, np.ndarray]  # cosines (P,) float64, rows (P, 2) int64


class PairSearch:
    """All pairs of rows of some blocks, compared block by block.

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

    def all(self) -> Iterator[Found]:
        """Yield all pairs, those of one product at a time, the lower row first."""
        return self._found(lambda: self.threshold, None)

    def best(self, most: int) -> Found:
        """Return the most similar pairs, best first.

        Of equal cosines, the lower first row comes first, then the lower second row.

        Args:
            most: how many at most.
        """
        kept: Found = np.empty(0), np.empty((0, 2), np.int64)
        waiting: list[Found] = []
        count = 0  # of pairs that wait

        def floor() -> float:
            return float(kept[0][-1]) if len(kept[0]) == most else self.threshold

        for found in self._found(floor, most):
            waiting.append(found)
            count += len(found[0])
            # Not after each product: sorting a million pairs takes longer than one.
            if count >= most:
                kept, waiting, count = _best([kept, *waiting], most), [], 0
        return _best([kept, *waiting], most)

    def _found(self, floor: Callable[[], float], most: int | None) -> Iterator[Found]:
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


def _best(found: Sequence[Found], most: int) -> Found:
    """Return the best of the pairs in order."""
    cosine, pairs = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -cosine))[:most]
    return cosine[order], pairs[order]
