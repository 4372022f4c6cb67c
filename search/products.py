"""Which rows of two blocks have a product worth computing exactly: matrix products with a bound.

Where the processor multiplies bfloat16 fast, such products come first. They are wrong by little
more than 0.01 at most, so they leave few candidates; where they leave many, float32 products decide
which to keep. The float64 cosines of the candidates decide in the end, so nothing is lost.
Legend: L rows of the left block, n of the right, H dimensions, P pairs; vectors have length 1.
Feeds: nearest, pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from runtime.device import choose_precision

# One candidate in so many takes as long to score exactly as a float32 product takes.
TOO_MANY = 100
# Pairs whose float64 cosines are computed at a time: 2 x 4,096 x 768 numbers are 50 MB.
RESCORED = 4096


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
