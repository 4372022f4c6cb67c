"""Word overlap: the share of words that two texts have in common (Jaccard 1901)."""

from collections.abc import Sequence

import numpy as np

from data.overlap import normalise

# English words that say little of what a text is about. Without them, word overlap correlates with
# the scores of CS224N's STS train rows by 0.70 instead of 0.60 (Spearman), and with those of the
# bundled ones by 0.71 instead of 0.62. Its accuracy on paraphrase detection hardly changes.
FUNCTION_WORDS = frozenset(
    "a an the of to in on at for from by with and or but as that this these those it its is are "
    "was were be been am do does did has have had i you he she we they his her my your their our "
    "me him them us".split()
)


def words(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters and digits, in lower case."""
    return normalise(text).split()


def jaccard(
    first: Sequence[str], second: Sequence[str], without: frozenset[str] = frozenset()
) -> np.ndarray:
    """Return |A n B| / |A u B| of the sets of lower-cased words of each pair, (N,) in 0 .. 1.

    Words in `without` do not count. Two texts without any word have overlap 1.
    """
    shares = []
    for a, b in zip(first, second, strict=True):
        left, right = set(words(a)) - without, set(words(b)) - without
        either = left | right
        shares.append(len(left & right) / len(either) if either else 1.0)
    return np.array(shares, np.float64)
