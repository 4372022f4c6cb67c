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
    best, found = -np.inf, (0, 1)
    for start in range(0, len(embeddings), BLOCK):
        # Rows of this block with those from its first one on: earlier pairs are done.
        cosines = embeddings[start : start + BLOCK] @ embeddings[start:].T
        # A row with itself, and with the earlier ones of its block, is no pair of its own.
        cosines[np.tril_indices(len(cosines))] = -np.inf
        place = int(cosines.argmax())
        if cosines.flat[place] > best:
            row, column = divmod(place, cosines.shape[1])
            best, found = float(cosines.flat[place]), (start + row, start + column)
    return found
