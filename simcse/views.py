"""Examples as rows of token sequences: which sentences a contrastive example consists of.

Legend: n examples, V views of one example (2, or 3 with a hard negative).
Reads: data.examples through minbert's tokenizer. Feeds: train.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from data.examples import DataError, Triplet
from minbert.packing import TokenSequences
from minbert.tokenizer import BertTokenizer


@dataclass(frozen=True)
class ContrastiveData:
    """Token sequences, and for every example the rows of its anchor, positive, hard negative."""

    sequences: TokenSequences
    rows: np.ndarray  # (n, V) int64

    def __len__(self) -> int:
        return len(self.rows)


def unsupervised(
    sentences: Iterable[str], tokenizer: BertTokenizer, max_length: int
) -> ContrastiveData:
    """Each sentence is its own positive: the same row twice; dropout makes the two views differ.

    The sentences are read as a stream: a million need no more memory than their token ids.
    """
    sequences = tokenizer(sentences, max_length=max_length)
    rows = np.arange(len(sequences))
    return ContrastiveData(sequences, np.stack([rows, rows], axis=1))  # (n, 2)


def supervised(
    triplets: Iterable[Triplet], tokenizer: BertTokenizer, max_length: int
) -> ContrastiveData:
    """Anchor, positive and (if the data has them) hard negative, from a stream of triplets.

    Raises:
        DataError: some triplets have a hard negative and others have not.
    """
    stream = iter(triplets)
    first = next(stream, None)
    if first is None:
        raise DataError("no triplets to train on; expected sent0,sent1[,hard_neg] rows")
    num_views = 2 if first.hard_negative is None else 3
    texts = _texts(chain([first], stream), num_views)
    sequences = tokenizer(texts, max_length=max_length)
    rows = np.arange(len(sequences)).reshape(-1, num_views)
    return ContrastiveData(sequences, rows)  # (n, 2 or 3)


def _texts(triplets: Iterable[Triplet], num_views: int) -> Iterator[str]:
    for index, triplet in enumerate(triplets):
        views = (triplet.anchor, triplet.positive, triplet.hard_negative)
        if (triplet.hard_negative is None) == (num_views == 3):
            raise DataError(f"triplet {index + 1}: all triplets or none need a hard negative")
        yield from (text for text in views if text is not None)
