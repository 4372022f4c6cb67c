"""Examples of the other objectives as rows of token sequences.

Legend: n examples. Reads: data.examples through minbert's tokenizer. Feeds: objectives.
"""

from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from data.examples import DataError, SentencePair
from data.overlap import Seen, noted
from minbert.packing import TokenSequences
from minbert.tokenizer import BertTokenizer
from simcse.views import ContrastiveData

# CT's bag: a sentence with itself, and with this many others (Carlsson et al. 2021).
NEGATIVES = 7
# Which others is drawn once, so that a stopped and resumed run meets the same bags.
BAG_SEED = 0


def labelled_pairs(
    pairs: Iterable[SentencePair],
    tokenizer: BertTokenizer,
    max_length: int,
    seen: Seen | None = None,
) -> ContrastiveData:
    """Return both sentences of each pair as views, (n, 2), with the pair's class.

    Args:
        pairs: labelled; read as a stream.
        tokenizer: of the encoder.
        max_length: longer sentences are cut to this many tokens.
        seen: where to note the texts while reading, for the leak audit.
    """
    labels = array("b")

    def texts() -> Iterator[str]:
        # One pass: the labels are collected while the tokenizer reads the texts.
        for pair in pairs:
            assert pair.label is not None, "the reader lets labelled pairs through only"
            labels.append(int(pair.label))
            yield from pair.texts

    sequences = _tokenized(texts(), tokenizer, max_length, seen)
    rows = np.arange(len(sequences)).reshape(-1, 2)
    return ContrastiveData(sequences, rows, np.array(labels, np.int64))


def single(
    sentences: Iterable[str], tokenizer: BertTokenizer, max_length: int, seen: Seen | None = None
) -> ContrastiveData:
    """Return each sentence as its only view, (n, 1). Args: as for `labelled_pairs`."""
    sequences = _tokenized(sentences, tokenizer, max_length, seen)
    return ContrastiveData(sequences, np.arange(len(sequences))[:, None])


def bags(
    sentences: Iterable[str], tokenizer: BertTokenizer, max_length: int, seen: Seen | None = None
) -> ContrastiveData:
    """Return each sentence, itself again, and NEGATIVES others drawn at random, (n, 9).

    Args: as for `labelled_pairs`.

    Raises:
        DataError: a single sentence, which has no others.
    """
    sequences = _tokenized(sentences, tokenizer, max_length, seen)
    count = len(sequences)
    if count < 2:
        raise DataError("contrastive tension needs two or more sentences, the file has one")
    own = np.arange(count)[:, None]
    # A draw among all but one; those from the sentence itself on move up by one.
    others = np.random.default_rng(BAG_SEED).integers(count - 1, size=(count, NEGATIVES))
    return ContrastiveData(sequences, np.hstack([own, own, others + (others >= own)]))


def _tokenized(
    texts: Iterable[str], tokenizer: BertTokenizer, max_length: int, seen: Seen | None
) -> TokenSequences:
    return tokenizer(texts if seen is None else noted(texts, seen), max_length=max_length)
