"""The nearest of N embeddings to one, and the closest two of all, exactly, by matrix products.

Legend: N embeddings of unit length, H their size. Reads: arrays. Feeds: cost.
"""

import numpy as np

BLOCK = 1024  # rows of the (N, N) cosines at a time


def nearest(embeddings: np.ndarray, query: np.ndarray) -> int:
    """Return the row of `embeddings` (N, H) with the largest cosine with `query` (H,)."""
    return int((embeddings @ query).argmax())


def closest_pair(embeddings: np.ndarray) -> tuple[int, int]:
    """Return the two rows, i < j, of `embeddings` (N, H), N at least 2, with the largest cosine.

    Half of the (N, N) cosines are computed, a block of rows at a time.
    """
    blocks = range(0, len(embeddings), BLOCK)
    _, i, j = max(_closest_from(embeddings, start) for start in blocks)
    return i, j


def _closest_from(embeddings: np.ndarray, start: int) -> tuple[float, int, int]:
    """Return the largest cosine of a row of the block at `start` with a later row, and both."""
    # Rows of this block with those from its first one on: earlier pairs are done.
    cosines = embeddings[start : start + BLOCK] @ embeddings[start:].T
    # A row with itself, and with the earlier ones of its block, is no pair of its own.
    cosines[:, : len(cosines)][np.tri(len(cosines), dtype=bool)] = -np.inf
    row, column = divmod(int(cosines.argmax()), cosines.shape[1])
    return float(cosines[row, column]), start + row, start + column
