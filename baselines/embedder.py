"""A common interface of all compared methods: texts to vectors, pairs of texts to similarities.

Legend: N texts or pairs, D numbers per vector.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

# Modules that only compare words, such as a page, need no torch.
if TYPE_CHECKING:
    from minbert.encoder import SentenceEncoder

# Dense or sparse; a sparse matrix does not store zeros.
Vectors: TypeAlias = np.ndarray | csr_matrix
Embed = Callable[[Sequence[str]], Vectors]
Compare = Callable[[Sequence[str], Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Embedder:
    """A method that the evaluation measures: texts to vectors and/or pairs to similarities."""

    # The row's name in tables, e.g. "mini, mean, whitening 256".
    name: str
    # N texts -> (N, D); None: has no vectors (word overlap).
    embed: Embed | None
    # N pairs -> (N,) similarities; None: the cosine of the vectors.
    compare: Compare | None = None
    # Fits the method to the scored set's unlabelled sentences: whitening, flow, TF-IDF's idf.
    adapt: Callable[[Sequence[str]], Embedder] | None = None


def of_encoder(
    encoder: SentenceEncoder,
    name: str,
    pooling: str | None = None,
    reading: Callable[[SentenceEncoder], Embed] | None = None,
) -> Embedder:
    """Return an encoder as an Embedder; the encoder is not changed.

    Args:
        pooling: one of minbert.config.POOLINGS; None keeps the encoder's pooling.
        reading: a function that embeds texts (the evaluation caches vectors); None: encode them.
    """
    # The same weights with another pooling, without a copy.
    view = copy.copy(encoder)
    if pooling is not None:
        view.pool_by(pooling)
    return Embedder(name, reading(view) if reading else view.encode_quietly)


def cosines(first: Vectors, second: Vectors) -> np.ndarray:
    """Return the cosine of each row of `first` (N, D) and the same row of `second`, (N,).

    Either kind of matrix; the cosine with a vector of zeros is 0.
    """
    from sklearn.preprocessing import normalize  # takes a second to load

    left, right = normalize(first), normalize(second)
    products = left.multiply(right) if isinstance(left, csr_matrix) else left * right
    return np.asarray(products.sum(axis=1)).ravel()


def similarities(embedder: Embedder, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Return an Embedder's similarity of each of N pairs, (N,); by default the cosine."""
    if embedder.compare is not None:
        return embedder.compare(first, second)
    assert embedder.embed is not None, "an Embedder has vectors or similarities"
    return cosines(embedder.embed(first), embedder.embed(second))
