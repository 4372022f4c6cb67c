"""Baselines without an encoder: majority class, word overlap, TF-IDF, averaged word vectors.

Legend: N texts or pairs, D numbers per vector, V words or pieces, H hidden_size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from baselines.embedder import Embedder, cosines
from baselines.jaccard import jaccard, words
from data.examples import DataError
from data.table import numbered_lines

# Modules that only compare words, such as a page, need no torch.
if TYPE_CHECKING:
    from minbert.encoder import SentenceEncoder


# --- the majority class


def majority() -> Embedder:
    """Return the Embedder that gives every text the same vector, a single zero.

    With the same vector for every text, a classifier predicts the most frequent class and a
    regression the mean label. The cosines of all pairs are equal, so correlations are undefined.
    """
    return Embedder("majority", lambda texts: np.zeros((len(texts), 1), np.float32))


# --- word overlap: the share of words that two sentences have in common (Jaccard 1901)


def word_overlap() -> Embedder:
    """Return the Embedder that compares pairs by their words, and has no vectors.

    A bag of words has no order: "dog bites man" and "man bites dog" are equal.
    """
    return Embedder("word overlap", None, jaccard)


# --- TF-IDF: bags of words in which rare words weigh more (Spaerck Jones 1972)


def tfidf() -> Embedder:
    """Return the Embedder that counts words, weighted by their rarity in the scored set.

    Until it is adapted it has no vectors, only similarities, with rarities in the texts of the
    pairs: vectors of two calls would count different words.
    """
    return Embedder("TF-IDF", None, _tfidf_of_pairs, _tfidf_of)


def _tfidf_of(texts: Sequence[str]) -> Embedder:
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second to load

    # Our tokenization, not the library's, which drops single letters such as "a" and "I".
    counts = TfidfVectorizer(analyzer=words, dtype=np.float64)
    # Without a word in any text nothing can be fitted; one empty word is used instead.
    counts.fit([*texts, "the"] if not any(map(words, texts)) else texts)

    def embed(texts: Sequence[str]) -> csr_matrix:
        return csr_matrix(counts.transform(texts))  # (N, V)

    return Embedder("TF-IDF", embed, None, _tfidf_of)


def _tfidf_of_pairs(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    embed = _tfidf_of([*first, *second]).embed
    assert embed is not None
    return cosines(embed(first), embed(second))


# --- averaged static vectors: a sentence as the mean of its words' vectors, without any order


class StaticVectors:
    """The vectors of a file; only those of words that occurred are in memory.

    Args:
        path: one word and its D numbers per line, separated by blanks, as GloVe is published
            (Pennington et al. 2014). word2vec's header line (number of words, D) is skipped.
    """

    def __init__(self, path: Path):
        self.path = path
        self.known: dict[str, np.ndarray] = {}  # word -> (D,)
        self.sought: set[str] = set()
        self.size = 0  # D, known once the file has been opened

    def read(self, texts: Iterable[str]) -> None:
        """Read the vectors of new words in `texts`, in one pass over the file.

        Raises:
            DataError: a missing or empty file; a line with another number of fields than the first
                line, or with a field that is not a number.
        """
        new = {word for text in texts for word in words(text)} - self.sought
        # Without new words the file is not read, since published files have a gigabyte.
        if not new and self.size:
            return
        for number, line in numbered_lines(self.path):
            fields = line.rstrip().split(" ")
            if number == 1:
                if len(fields) < 2:
                    raise self._fault(1, "expected a word and its vector, separated by blanks")
                header = len(fields) == 2 and fields[0].isdecimal() and fields[1].isdecimal()
                self.size = int(fields[1]) if header else len(fields) - 1
                if header and self.size > 1:
                    continue
            # A few of GloVe's words contain blanks, so the numbers are counted from the right.
            word = " ".join(fields[: -self.size])
            if word in new:
                self.known[word] = self._vector(number, fields)
            elif not word:
                raise self._fault(
                    number,
                    f"{len(fields)} blank-separated fields, expected a word and {self.size} "
                    "numbers as in the first line; correct or delete the line",
                )
        if not self.size:
            raise DataError(f"{self.path}: is empty; expected one word and its vector per line")
        self.sought |= new

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the mean vector of each text's known words, (N, D); zeros if it has none."""
        self.read(texts)
        means = np.zeros((len(texts), self.size), np.float32)
        for row, text in enumerate(texts):
            known = [self.known[word] for word in words(text) if word in self.known]
            if known:
                means[row] = np.mean(known, axis=0)
        return means

    def _vector(self, number: int, fields: list[str]) -> np.ndarray:
        try:
            vector = np.array(fields[-self.size :], np.float32)
        except ValueError:
            raise self._fault(
                number,
                f"the vector of {fields[0]!r} holds a field that is not a number; correct or "
                "delete the line",
            ) from None
        if not np.isfinite(vector).all():
            raise self._fault(number, f"the vector of {fields[0]!r} is not finite; delete the line")
        return vector

    def _fault(self, number: int, message: str) -> DataError:
        return DataError(f"{self.path}:{number}: {message}")


def static_file(path: Path, name: str) -> Embedder:
    """Return the mean of a file's word vectors as an Embedder.

    Its `adapt` reads the vectors of a whole set in one pass over the file.
    """
    vectors = StaticVectors(path)

    def adapt(texts: Sequence[str]) -> Embedder:
        vectors.read(texts)
        return embedder

    embedder = Embedder(name, vectors.embed, None, adapt)
    return embedder


def word_embeddings(encoder: SentenceEncoder, name: str) -> Embedder:
    """Return the mean of the encoder's word embeddings, without special tokens.

    It uses no positions and no layers: a bag of the encoder's pieces.
    """
    table = encoder.model.embeddings.word_embeddings.weight

    def embed(texts: Sequence[str]) -> np.ndarray:
        sequences = encoder.tokenize(texts)
        # (N, V) with a 1 for every token of a text: its product with the table sums the vectors.
        real = ~np.isin(sequences.ids, encoder.tokenizer.special_ids)
        shape = (len(texts), table.shape[0])
        tokens = csr_matrix(
            (real.astype(np.float32), sequences.ids.astype(np.int32), sequences.offsets), shape
        )
        sums = tokens @ table.detach().float().cpu().numpy()  # (N, V) x (V, H) -> (N, H)
        # A text with only special tokens has the sum 0 and so the mean 0.
        return np.asarray(sums / np.maximum(tokens.sum(axis=1), 1), np.float32)

    return Embedder(name, embed)
