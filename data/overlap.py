"""Leak audit: which examples of a test set were already seen in training or model selection?

Texts are compared by 64-bit hashes of their normalised form, 8 bytes each however long the text.
Reads: data.examples. Feeds: evaluation, which scores the unseen rest as well.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from data.examples import Sentence, SentencePair

NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")

# Any odd number keeps the multiplication reversible modulo 2**64; this one mixes bits well.
PAIR_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def normalise(text: str) -> str:
    """Returns the letters and digits of any script, case-folded (NFKC), one blank between words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return NOT_LETTER_OR_DIGIT.sub(" ", folded).strip()


def text_hash(text: str) -> int:
    """Returns 64 bits that are equal for texts of equal normalised form, in every process.

    A text without letters or digits counts as itself, or "?" and "!" would be the same text.
    """
    key = (normalise(text) or text.strip()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def _hashes(texts: Iterable[str]) -> np.ndarray:
    return np.fromiter((text_hash(text) for text in texts), np.uint64)


def _hash_pairs(pairs: Iterable[tuple[str, str]]) -> np.ndarray:
    """Returns (n, 2) text hashes, the smaller first, so that the order in a pair does not count."""
    return np.sort(_hashes(text for pair in pairs for text in pair).reshape(-1, 2), axis=1)


def _combine(hash_pairs: np.ndarray) -> np.ndarray:
    """Returns (n,) one hash a pair, from (n, 2)."""
    return hash_pairs[:, 0] + PAIR_MULTIPLIER * hash_pairs[:, 1]  # modulo 2**64


def _is_in(hashes: np.ndarray, sorted_hashes: np.ndarray) -> np.ndarray:
    """Returns bool, shaped as `hashes`. (np.isin would sort the large array at every call.)"""
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
        """Notes texts; any iterable, read once."""
        self.texts = np.union1d(self.texts, _hashes(texts))

    def add_pairs(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Notes unordered pairs, and their texts as well; any iterable, read once."""
        hash_pairs = _hash_pairs(pairs)
        self.texts = np.union1d(self.texts, hash_pairs)
        self.pairs = np.union1d(self.pairs, _combine(hash_pairs))

    def add_examples(self, examples: Sequence[Sentence] | Sequence[SentencePair]) -> None:
        """Notes the texts, and the pairs, of labelled examples."""
        self.add_texts(example.text for example in examples if isinstance(example, Sentence))
        self.add_pairs(
            (example.text_a, example.text_b)
            for example in examples
            if isinstance(example, SentencePair)
        )

    def has_text(self, text: str) -> bool:
        """Returns whether the text was noted, by itself or in a pair."""
        return bool(_is_in(_hashes([text]), self.texts)[0])

    def has_pair(self, text_a: str, text_b: str) -> bool:
        """Returns whether the two texts were noted as a pair, in either order."""
        return bool(_is_in(_combine(_hash_pairs([(text_a, text_b)])), self.pairs)[0])


@dataclass(frozen=True, eq=False)
class Overlap:
    """What of a list of n examples was seen before.

    Attributes:
        shared: (n,) bool, rows of which at least one sentence was seen.
        pairs: (n,) bool, rows whose whole pair was seen; all False for single sentences.
    """

    shared: np.ndarray
    pairs: np.ndarray

    @property
    def share_sentences(self) -> float:
        """Returns the share of rows, 0 to 1, of which a sentence was seen; 0 of no rows."""
        return float(self.shared.mean()) if len(self.shared) else 0.0

    @property
    def share_pairs(self) -> float:
        """Returns the share of rows, 0 to 1, whose pair was seen; 0 of no rows."""
        return float(self.pairs.mean()) if len(self.pairs) else 0.0


def overlap(examples: Sequence[Sentence] | Sequence[SentencePair], seen: Seen) -> Overlap:
    """Returns which of the examples hold a sentence, or are a pair, that was seen."""
    singles = [example.text for example in examples if isinstance(example, Sentence)]
    if len(singles) == len(examples):
        shared = _is_in(_hashes(singles), seen.texts)
        return Overlap(shared, np.zeros(len(shared), bool))
    pairs = [(pair.text_a, pair.text_b) for pair in examples if isinstance(pair, SentencePair)]
    hash_pairs = _hash_pairs(pairs)
    either = _is_in(hash_pairs, seen.texts)  # (n, 2)
    return Overlap(either[:, 0] | either[:, 1], _is_in(_combine(hash_pairs), seen.pairs))
