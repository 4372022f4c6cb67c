"""Leak audit: find examples of a test set that were used in training or model selection.

Texts are compared by 64-bit hashes of their normalised form, which take 8 bytes per text. For the
training texts of included encoders, `write_digests` stores 40 bits each. Texts cannot be recovered
from them, and fewer than one in a million other texts match by chance.
"""

import hashlib
import lzma
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from data.examples import DataError, Example
from runtime.files import open_plain, whole_file

E = TypeVar("E", bound=Example)

NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
# How the encoders at work read a text: functions that spell texts of equal pieces alike.
Spelling = Callable[[str], str]
_spellings: list[Spelling] = []

# Any odd number keeps the multiplication reversible modulo 2**64; this one mixes bits well.
PAIR_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# The name of a file of digests, and the omitted bits of the 64-bit hashes.
DIGESTS, LEFT_OUT = ".digests.xz", np.uint64(24)
MOST_DIGESTS = 2**28  # bytes, of 33 million texts


@contextmanager
def read_as(spellings: Iterable[Spelling]) -> Iterator[None]:
    """Take texts for the same where encoders read the same pieces, inside the block.

    So no text is in train and test in two spellings that are one to an encoder: with a soft hyphen
    and without, or with accents that an uncased vocabulary drops.
    """
    before, _spellings[:] = [*_spellings], spellings
    try:
        yield
    finally:
        _spellings[:] = before


def normalise(text: str) -> str:
    """Return the letters and digits of any script, case-folded (NFKC), one blank between words.

    Marks belong to their letters: vowels of Hindi are marks. All notions of equal texts are this
    one: splits, overlap, mining, and the words that a baseline compares.
    """
    if text.isascii():  # which every encoder reads as it stands
        return NOT_LETTER_OR_DIGIT.sub(" ", text.casefold()).strip()
    for spelled in _spellings:
        text = spelled(text)
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(map(_kept, folded)).split())


def _kept(character: str) -> str:
    """Return a letter, a digit or a mark; "" for an invisible sign, and a blank for any other."""
    category = unicodedata.category(character)
    # Format characters, such as soft hyphens; and the variation selectors.
    if category == "Cf" or "\ufe00" <= character <= "\ufe0f":
        return ""
    return character if character.isalnum() or category[0] == "M" else " "


def text_hash(text: str) -> int:
    """Return 64 bits that are equal for texts of equal normalised form, in every process.

    A text without letters or digits is not normalised; otherwise "?" and "!" would be equal.
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
    """Return one hash per pair, (n,) from (n, 2), independent of the order in the pair."""
    ordered = np.sort(hash_pairs, axis=1)
    return ordered[:, 0] + PAIR_MULTIPLIER * ordered[:, 1]  # modulo 2**64


def _is_in(hashes: np.ndarray, sorted_hashes: np.ndarray) -> np.ndarray:
    """Return bool, shaped as `hashes`. (np.isin would sort the large array at every call.)"""
    if not len(sorted_hashes):
        return np.zeros(hashes.shape, bool)
    places = np.searchsorted(sorted_hashes, hashes).clip(max=len(sorted_hashes) - 1)
    return np.asarray(sorted_hashes[places] == hashes)


class Seen:
    """The texts and pairs that a run used for training or selection.

    Each `add_` call merges into a sorted array: pass whole files, not single sentences.

    `known` is false for an encoder of which no training text is known.
    """

    def __init__(self) -> None:
        self.known = True
        self.texts = np.empty(0, np.uint64)  # sorted, distinct
        self.pairs = np.empty(0, np.uint64)
        self.digests = np.empty(0, np.uint64)  # of texts that are only known by their digests

    def add_texts(self, texts: Iterable[str]) -> None:
        """Note texts; any iterable, read once."""
        self.texts = np.union1d(self.texts, _hashes(texts))

    def add_pairs(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Note unordered pairs, and their texts as well; any iterable, read once."""
        self._add_rows(_hashes(text for pair in pairs for text in pair).reshape(-1, 2))

    def add_digests(self, path: Path) -> None:
        """Note the texts of a file that `write_digests` wrote.

        Raises:
            DataError: it is damaged.
        """
        try:
            with lzma.open(open_plain(path)) as file:
                content = file.read(MOST_DIGESTS + 1)
            if len(content) > MOST_DIGESTS:
                raise DataError(f"{path}: more than {MOST_DIGESTS >> 20} MB of digests; restore it")
            planes = np.frombuffer(content, np.uint8).reshape(8, -1)
        except (lzma.LZMAError, EOFError, ValueError) as error:
            raise DataError(f"{path}: not a whole file of digests ({error}); restore it") from None
        steps = np.ascontiguousarray(planes.T).view("<u8").ravel()
        self.digests = np.union1d(self.digests, np.cumsum(steps, dtype=np.uint64))

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
    """Return the examples of one task with a seen sentence, and those whose whole pair was seen."""
    hashes = _hash_examples(examples)
    known = _is_in(hashes, seen.texts)
    if len(seen.digests):
        with read_as([]):  # as they were written
            known |= _is_in(_hash_examples(examples) >> LEFT_OUT, seen.digests)
    shared = np.asarray(known.any(axis=1))
    if hashes.shape[1] == 1:
        return Overlap(shared, np.zeros(len(shared), bool))
    return Overlap(shared, _is_in(_combine(hashes), seen.pairs))


def disjoint(examples: Sequence[E], others: Sequence[Example]) -> list[E]:
    """Return the examples of one task that share no text with the others."""
    seen = Seen()
    seen.add_examples(others)
    shared = overlap(examples, seen).shared  # (n,)
    return [example for example, is_shared in zip(examples, shared, strict=True) if not is_shared]


def write_digests(texts: Iterable[str], path: Path) -> None:
    """Write the file for `Seen.add_digests`: 40 bits of each text's hash, in 3 bytes per text.

    Hashes are sorted and stored as differences: the first bytes of all, then the second bytes, and
    so on. Most bytes are zeros.
    """
    digests = np.unique(_hashes(texts) >> LEFT_OUT)
    steps = np.diff(digests, prepend=np.uint64(0)).astype("<u8")
    planes = steps.view(np.uint8).reshape(-1, 8).T
    with whole_file(path) as temporary:
        temporary.write_bytes(lzma.compress(planes.tobytes(), preset=9))


def groups_by_text(examples: Sequence[Example]) -> np.ndarray:
    """Return the group of each example of one task, (n,), by texts of equal normalised form."""
    hashes = _hash_examples(examples)
    _, texts = np.unique(hashes, return_inverse=True)
    return tied(texts.reshape(hashes.shape))


def tied(texts: np.ndarray) -> np.ndarray:
    """Return the group of each row, (n,), of the numbers of texts from 0, (n, 1) or (n, 2).

    Rows that are connected by shared texts form a group; groups are numbered in the order of their
    smallest text number.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # A graph of texts, in which each row is an edge from its first text to its last.
    ends = texts[:, 0], texts[:, -1]
    count = int(texts.max(initial=-1)) + 1
    _, groups = connected_components(coo_array((np.ones(len(texts)), ends), (count, count)), False)
    return np.asarray(groups[ends[0]], np.int64)


def noted(texts: Iterable[str], seen: Seen | None) -> Iterator[str]:
    """Yield the texts unchanged and add them to `seen`, if given, in one pass over a file.

    They are added when the stream has ended. A stream that is not read to its end adds nothing.
    """
    if seen is None:
        yield from texts
        return
    hashes = array("Q")  # 8 bytes per text
    for text in texts:
        hashes.append(text_hash(text))
        yield text
    seen.texts = np.union1d(seen.texts, np.frombuffer(hashes, np.uint64))
