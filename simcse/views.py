"""Examples as rows of token sequences: the sentences of each contrastive example.

Legend: n examples, V views of one example (in SimCSE 2, or 3 with a hard negative).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from data.examples import DataError, Triplet
from data.overlap import Seen, noted
from minbert.packing import TokenSequences
from minbert.tokenizer import BertTokenizer


@dataclass(frozen=True)
class ContrastiveData:
    """Token sequences, and for every example the rows of its anchor, positive, hard negative."""

    sequences: TokenSequences
    rows: np.ndarray  # (n, V) int64
    # (n,) int64, the class of each example, or (n, D), its teacher's embedding; SimCSE has none.
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def same_twice(self) -> bool:
        """Return whether every example is one sentence, which is its own positive."""
        return self.rows.shape[1] == 2 and bool((self.rows[:, 0] == self.rows[:, 1]).all())

    def texts(self, examples: np.ndarray) -> np.ndarray:
        """Return a number for each text of B examples, (V, B) int64; equal ones for equal tokens.

        Texts that are equal after cutting to the maximum length count as equal.
        """
        numbers: dict[bytes, int] = {}
        rows = self.rows[examples].T  # (V, B)
        ids, offsets = self.sequences.ids, self.sequences.offsets
        tokens = (ids[offsets[row] : offsets[row + 1]].tobytes() for row in rows.ravel())
        of_texts = [numbers.setdefault(text, len(numbers)) for text in tokens]
        return np.array(of_texts, np.int64).reshape(rows.shape)


def unsupervised(
    sentences: Iterable[str], tokenizer: BertTokenizer, max_length: int, seen: Seen | None = None
) -> ContrastiveData:
    """Return each sentence as its own positive: the same row twice.

    Both views go through the encoder in one batch, and dropout will make them differ (paper,
    section 3). Args: as for `single`.
    """
    data = single(sentences, tokenizer, max_length, seen)
    return replace(data, rows=data.rows.repeat(2, axis=1))  # (n, 2)


def single(
    sentences: Iterable[str], tokenizer: BertTokenizer, max_length: int, seen: Seen | None = None
) -> ContrastiveData:
    """Return each sentence as its only view, (n, 1).

    Args:
        sentences: read as a stream: a million need no more memory than their token ids.
        tokenizer: of the encoder.
        max_length: longer sentences are cut to this many tokens.
        seen: where to note the texts while reading, for the leak audit.
    """
    # Files are read once: texts are noted for the leak audit while the tokenizer reads.
    sequences = tokenizer(noted(sentences, seen), max_length=max_length)
    return ContrastiveData(sequences, np.arange(len(sequences))[:, None])


def supervised(
    triplets: Iterable[Triplet], tokenizer: BertTokenizer, max_length: int, seen: Seen | None = None
) -> ContrastiveData:
    """Return anchor, positive and (if the data has them) hard negative, from a stream of triplets.

    Args: as for `single`.

    Raises:
        DataError: some triplets have a hard negative and others have none.
    """
    stream = iter(triplets)
    first = next(stream, None)
    if first is None:
        raise DataError("no triplets to train on; expected sent0,sent1[,hard_neg] rows")
    # The first example decides whether all have hard negatives.
    num_views = len(first.texts)
    # The texts of all triplets in one stream: row 3 i is the anchor of example i, and so on.
    data = single(_texts(chain([first], stream), num_views), tokenizer, max_length, seen)
    return replace(data, rows=data.rows.reshape(-1, num_views))  # (n, 2 or 3)


def _texts(triplets: Iterable[Triplet], num_views: int) -> Iterator[str]:
    # A mixture would shift all later rows, and anchors would get other anchors' positives.
    for index, triplet in enumerate(triplets):
        if len(triplet.texts) != num_views:
            raise DataError(f"triplet {index + 1}: all triplets or none must have a hard negative")
        yield from triplet.texts
