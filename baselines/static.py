"""Averaged static embeddings: a sentence as the mean of its words' vectors, without any order.

The vectors come from a file in GloVe's text format (Pennington et al. 2014) that the user gives,
or from the encoder's own word-embedding layer.
Legend: N texts, D numbers per vector, V vocabulary, H hidden_size. Feeds: table.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from baselines.embedder import Embedder
from baselines.overlap import words
from data.examples import DataError
from data.readers.tables import numbered_lines
from minbert.encoder import SentenceEncoder


class StaticVectors:
    """The vectors of a file, of which only those of words that occurred are held.

    Args:
        path: one word and its D numbers per line, separated by blanks, as GloVe is published.
            word2vec's header line (number of words, D) is passed over.
    """

    def __init__(self, path: Path):
        self.path = path
        self.found: dict[str, np.ndarray] = {}  # word -> (D,)
        self.sought: set[str] = set()
        self.size = 0  # D, known once the file has been opened

    def read(self, texts: Iterable[str]) -> None:
        """Look for the words of `texts` that were not looked for before: one pass over the file.

        Raises:
            DataError: a missing or empty file; a line with another number of fields than the
                first one's, or with one that is not a number.
        """
        new = {word for text in texts for word in words(text)} - self.sought
        # No new words, no pass: a published file holds a gigabyte.
        if not new and self.size:
            return
        for number, line in numbered_lines(self.path):
            fields = line.rstrip().split(" ")
            if number == 1:
                self.size = _size(f"{self.path}:1", fields)
                if len(fields) == 2 and self.size > 1:
                    continue
            # A few of GloVe's words contain blanks, so the numbers are counted from the right.
            if (word := " ".join(fields[: -self.size])) in new:
                self.found[word] = _vector(f"{self.path}:{number}", fields, self.size)
            elif not word:
                raise _width_error(f"{self.path}:{number}", fields, self.size)
        if not self.size:
            raise DataError(f"{self.path}: is empty; expected one word and its vector per line")
        self.sought |= new

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the mean vector of each text's known words, (N, D); zeros if it has none."""
        self.read(texts)
        means = np.zeros((len(texts), self.size), np.float32)
        for row, text in enumerate(texts):
            known = [self.found[word] for word in words(text) if word in self.found]
            if known:
                means[row] = np.mean(known, axis=0)
        return means


def _size(where: str, fields: list[str]) -> int:
    """Return D as the first line tells it: the header's second number, or its numbers' count."""
    if len(fields) == 2 and fields[0].isdecimal() and fields[1].isdecimal():
        return int(fields[1])
    if len(fields) < 2:
        raise DataError(f"{where}: expected a word and its vector, separated by blanks")
    return len(fields) - 1


def _vector(where: str, fields: list[str], size: int) -> np.ndarray:
    try:
        vector = np.array(fields[-size:], np.float32)
    except ValueError:
        raise DataError(
            f"{where}: the vector of {fields[0]!r} holds a field that is not a number; "
            "correct or delete the line"
        ) from None
    if not np.isfinite(vector).all():
        raise DataError(f"{where}: the vector of {fields[0]!r} is not finite; delete the line")
    return vector


def _width_error(where: str, fields: list[str], size: int) -> DataError:
    return DataError(
        f"{where}: {len(fields)} blank-separated fields, expected a word and {size} numbers as in "
        "the first line; correct or delete the line"
    )


def static_file(path: Path, name: str) -> Embedder:
    """Return the mean of a file's word vectors as an Embedder.

    Its `adapt` reads the vectors of a whole set in one pass over the file.

    Raises:
        DataError: when it is used: see `StaticVectors.read`.
    """
    vectors = StaticVectors(path)

    def adapt(texts: Sequence[str]) -> Embedder:
        vectors.read(texts)
        return embedder

    embedder = Embedder(name, vectors.embed, None, adapt)
    return embedder


def word_embeddings(encoder: SentenceEncoder, name: str) -> Embedder:
    """Return the mean of the encoder's own word embeddings, special tokens left out.

    It reads neither positions nor layers: the encoder's pieces as a bag.
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
        # A text of special tokens alone has the sum 0 and so the mean 0.
        return np.asarray(sums / np.maximum(tokens.sum(axis=1), 1), np.float32)

    return Embedder(name, embed)
