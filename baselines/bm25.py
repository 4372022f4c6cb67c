"""BM25, a search by words (Robertson and Zaragoza 2009), as in Lucene.

The score of a text is a sum over the words of a query, idf * tf / (tf + k1 * (1 - b + b * length /
mean length)). tf is the number of times that the text has the word; idf = log(1 + (N - df + 0.5) /
(df + 0.5)), where df of the N texts have it. A word that is twice in the query counts twice.

Legend: Q queries, B queries of a block, N texts, V words.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_matrix

from baselines.jaccard import words

BLOCK = 2**22  # scores at a time, 32 MB


class BM25:
    """The texts of a corpus as weights of their words, to be searched."""

    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        tokens = [words(text) for text in texts]
        self.columns = {word: at for at, word in enumerate(dict.fromkeys(chain(*tokens)))}
        counts = self._counts(tokens).tocoo()  # (N, V), an entry for each word of each text
        tf, text, word = counts.data, counts.row, counts.col
        df = np.bincount(word, minlength=len(self.columns))  # (V,)
        idf = np.log1p((len(texts) - df + 0.5) / (df + 0.5))  # (V,)
        lengths = np.array([len(of_text) for of_text in tokens])  # (N,)
        norms = k1 * (1 - b + b * lengths[text] / lengths.mean())
        self.weights = csr_matrix((idf[word] * tf / (tf + norms), (word, text)), counts.shape[::-1])

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """Return the score of each text for each query, (Q, N) float64."""
        counts = self._counts([words(query) for query in queries])
        return (counts @ self.weights).toarray()  # (Q, V) x (V, N) -> (Q, N)

    def top_k(self, queries: Sequence[str], k: int) -> np.ndarray:
        """Return the rows of the k best texts of each query, (Q, k) int64, best first.

        Of equal scores, 0 included, the lower row is first. All rows are returned if there are
        fewer than k.
        """
        size = self.weights.shape[1]
        best = np.empty((len(queries), min(k, size)), np.int64)
        step = max(1, BLOCK // max(1, size))
        for start in range(0, len(queries), step):
            scores = self.scores(queries[start : start + step])  # (B, N)
            best[start : start + step] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return best

    def _counts(self, tokens: Sequence[Sequence[str]]) -> csr_matrix:
        """Return how often each text has each known word, (texts, V)."""
        known = [[self.columns[w] for w in text if w in self.columns] for text in tokens]
        offsets = np.cumsum([0, *map(len, known)])
        columns = np.fromiter(chain(*known), np.int64, offsets[-1])
        shape = (len(tokens), len(self.columns))
        counts = csr_matrix((np.ones(len(columns)), columns, offsets), shape)
        counts.sum_duplicates()
        return counts
