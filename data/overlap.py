"""Leak audit: which examples of a test set were already seen in training or model selection?

Texts are compared by 64-bit hashes of their normalised form, 8 bytes each however long the text.
"""

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.examples import Example

NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")

# Any odd number keeps the multiplication reversible modulo 2**64; this one mixes bits well.
PAIR_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def normalise(text: str) -> str:
    """Return the letters and digits of any script, case-folded (NFKC), one blank between words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return NOT_LETTER_OR_DIGIT.sub(" ", folded).strip()


def text_hash(text: str) -> int:
    """Return 64 bits that are equal for texts of equal normalised form, in every process.

    A text without letters or digits counts as itself; else "?" and "!" would be the same text.
    """
    key = (normalise(text) or text.strip()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def _hashes(texts: Iterable[str]) -> np.ndarray:
    return np.fromiter((text_hash(text) for text in texts), np.uint64)


def _hash_examples(examples: Sequence[Example]) -> np.ndarray:
    """Return (n, 1) or (n, 2) text hashes, as many columns as an example has texts."""
    width = len(examples[0].texts) if examples else 1
    return _hashes(text for example in examples for text in example.texts).reshape(-1, width)


def _combine(hash_pairs: np.ndarray) -> np.ndarray:
    """Return one hash per pair, (n,) from (n, 2), whatever the order in the pair."""
    ordered = np.sort(hash_pairs, axis=1)
    return ordered[:, 0] + PAIR_MULTIPLIER * ordered[:, 1]  # modulo 2**64


def _is_in(hashes: np.ndarray, sorted_hashes: np.ndarray) -> np.ndarray:
    """Return bool, shaped as `hashes`. (np.isin would sort the large array at every call.)"""
    if not len(sorted_hashes):
        return np.zeros(hashes.shape, bool)
    places = np.searchsorted(sorted_hashes, hashes).clip(max=len(sorted_hashes) - 1)
    return np.asarray(sorted_hashes[places] == hashes)


class Seen:
    """The texts and pairs that a run has trained on or selected by.

    Each `add_` call merges into a sorted array: hand over whole files, not single sentences.
    """

    def __init__(self) -> None:
        self.texts = np.empty(0, np.uint64)  # sorted, distinct
        self.pairs = np.empty(0, np.uint64)

    def add_texts(self, texts: Iterable[str]) -> None:
        """Note texts; any iterable, read once."""
        self.texts = np.union1d(self.texts, _hashes(texts))

    def add_pairs(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Note unordered pairs, and their texts as well; any iterable, read once."""
        self._add_rows(_hashes(text for pair in pairs for text in pair).reshape(-1, 2))

    def add_examples(self, examples: Sequence[Example]) -> None:
        """Note the texts, and the pairs, of examples of one task."""
        self._add_rows(_hash_examples(examples))

    def _add_rows(self, hashes: np.ndarray) -> None:
        """Note the hashes of rows of one text, (n, 1), or of two, (n, 2)."""
        self.texts = np.union1d(self.texts, hashes)
        if hashes.shape[1] == 2:
            self.pairs = np.union1d(self.pairs, _combine(hashes))


@dataclass(frozen=True, eq=False)
class Overlap:
    """Which of n examples were seen before.

    Attributes:
        shared: (n,) bool, rows with at least one sentence that was seen.
        pairs: (n,) bool, rows whose whole pair was seen; all False for single sentences.
    """

    shared: np.ndarray
    pairs: np.ndarray

    @property
    def share_sentences(self) -> float:
        """Return the share of rows, 0 to 1, with a sentence that was seen; 0 if there are none."""
        return float(self.shared.mean()) if len(self.shared) else 0.0

    @property
    def share_pairs(self) -> float:
        """Return the share of rows, 0 to 1, whose pair was seen; 0 if there are none."""
        return float(self.pairs.mean()) if len(self.pairs) else 0.0


def overlap(examples: Sequence[Example], seen: Seen) -> Overlap:
    """Return which examples of one task hold a sentence, or are a pair, that was seen."""
    hashes = _hash_examples(examples)
    shared = np.asarray(_is_in(hashes, seen.texts).any(axis=1))
    if hashes.shape[1] == 1:
        return Overlap(shared, np.zeros(len(shared), bool))
    return Overlap(shared, _is_in(_combine(hashes), seen.pairs))


def groups_by_text(examples: Sequence[Example]) -> np.ndarray:
    """Return the group of each example of one task, (n,), tied by texts of equal normal form."""
    hashes = _hash_examples(examples)
    _, texts = np.unique(hashes, return_inverse=True)
    return tied(texts.reshape(hashes.shape))


def tied(texts: np.ndarray) -> np.ndarray:
    """Return the group of each row, (n,), of the numbers of texts from 0, (n, 1) or (n, 2).

    What a chain of shared texts connects is one group; they are numbered in the order of their
    least.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # A graph of texts, in which each row is an edge from its first text to its last.
    ends = texts[:, 0], texts[:, -1]
    count = int(texts.max(initial=-1)) + 1
    _, groups = connected_components(coo_array((np.ones(len(texts)), ends), (count, count)), False)
    return np.asarray(groups[ends[0]], np.int64)


def noted(texts: Iterable[str], seen: Seen | None) -> Iterator[str]:
    """Yield the texts unchanged, so that one pass over a training file both trains and notes.

    They are in `seen`, if it is given, once the stream has ended, and not before: a stream that
    breaks off, or is not read to its end, notes nothing.
    """
    if seen is None:
        yield from texts
        return
    hashes = array("Q")  # 8 bytes per text
    for text in texts:
        hashes.append(text_hash(text))
        yield text
    seen.texts = np.union1d(seen.texts, np.frombuffer(hashes, np.uint64))
