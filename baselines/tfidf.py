"""TF-IDF: bags of words in which rare words weigh more (Spaerck Jones 1972), by scikit-learn.

Legend: N texts, V words. Feeds: table.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from baselines.embedder import Embedder, cosines
from baselines.overlap import words


def tfidf() -> Embedder:
    """Return the Embedder that counts words, weighted by their rarity in the set that is scored.

    Until it is adapted it has no vectors, only similarities, with the rarities of the pairs' own
    texts: vectors of two calls would count different words.
    """
    return Embedder("TF-IDF", None, _compare, _adapt)


def _adapt(texts: Sequence[str]) -> Embedder:
    # Our own words, not the library's, which drop single letters: all of "a" and "I".
    counts = TfidfVectorizer(analyzer=words, dtype=np.float64)
    # Without a word in any text there is nothing to fit; one empty word stands for all.
    counts.fit([*texts, "the"] if not any(map(words, texts)) else texts)

    def embed(texts: Sequence[str]) -> csr_matrix:
        return csr_matrix(counts.transform(texts))  # (N, V)

    return Embedder("TF-IDF", embed, None, _adapt)


def _compare(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    embed = _adapt([*first, *second]).embed
    assert embed is not None
    return cosines(embed(first), embed(second))
