"""Word overlap: the share of words that two sentences have in common (Jaccard 1901).

A bag of words knows no order: "dog bites man" and "man bites dog" are the same to it.
Legend: N pairs. Feeds: table.
"""

from collections.abc import Sequence

import numpy as np

from baselines.embedder import Embedder
from data.overlap import normalise


def word_overlap() -> Embedder:
    """Return the Embedder that compares pairs by their words, and has no vectors."""
    return Embedder("word overlap", None, jaccard)


def jaccard(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Return |A n B| / |A u B| of the sets of lower-cased words of each pair, (N,) in 0 .. 1.

    Two texts without a single word are alike.
    """
    return np.array([_of_pair(a, b) for a, b in zip(first, second, strict=True)], np.float64)


def words(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters and digits, in lower case."""
    return normalise(text).split()


def _of_pair(first: str, second: str) -> float:
    left, right = set(words(first)), set(words(second))
    either = left | right
    return len(left & right) / len(either) if either else 1.0
