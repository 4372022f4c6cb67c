"""The examples that all stages exchange, and the error for faults in a user's file."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from runtime.errors import UserError


class DataError(UserError):
    """The user's data cannot be used.

    The message is one line: file (and `:LINE`), actual and expected content, remedy.
    """


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence to classify.

    `label` is the class index, None if the file has no labels. `phenomenon` is the tag of the row,
    if the file has such a column (the bundled data has one).
    """

    id: str
    text: str
    label: int | None = None
    phenomenon: str | None = None

    @property
    def texts(self) -> tuple[str]:
        """Return the sentence as a tuple of one text, so it can be read like a pair."""
        return (self.text,)


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences to compare.

    `label` is 0.0 or 1.0 (duplicates), a similarity from 0 to 5, or None if the file has no
    labels. `row` is the pair's row in the official STS-Benchmark, if the file has it.
    `phenomenon` is as in Sentence.
    """

    id: str
    text_a: str
    text_b: str
    label: float | None = None
    row: int | None = None
    phenomenon: str | None = None

    @property
    def texts(self) -> tuple[str, str]:
        return (self.text_a, self.text_b)

    def swapped(self) -> "SentencePair":
        """Return the pair with its texts in the other order."""
        return replace(self, text_a=self.text_b, text_b=self.text_a)


Example = Sentence | SentencePair


def in_the_other_order(examples: Iterable[Example]) -> list[SentencePair]:
    """Return the pairs among examples, each with its texts swapped."""
    return [example.swapped() for example in examples if isinstance(example, SentencePair)]


@dataclass(frozen=True, slots=True)
class Query:
    """A text to answer by searching a corpus.

    `relevant` has the rows of the corpus that answer it, rising, each with its grade from 1.
    """

    id: str
    text: str
    relevant: tuple[tuple[int, int], ...]

    @property
    def texts(self) -> tuple[str]:
        """Return the query as a tuple of one text, as an example has them."""
        return (self.text,)


@dataclass(frozen=True, slots=True)
class Document:
    """A text of the corpus that is searched."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Triplet:
    """An anchor, a text that means the same and, in supervised sets, one that contradicts it."""

    anchor: str
    positive: str
    hard_negative: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Return anchor, positive and, if there is one, hard negative."""
        if self.hard_negative is None:
            return (self.anchor, self.positive)
        return (self.anchor, self.positive, self.hard_negative)
