"""Frames, which represent the meaning of a sentence; `replace` and the random draws.

Reads: words. Feeds: edits, grammar, sampling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from data.synthetic.words import Noun, Quality, Verb

T = TypeVar("T")

PRONOUN = "pronoun"  # the class of unnamed agents

DATIVE = ("give", "hand", "show", "send", "mail", "sell", "lend")


@dataclass(frozen=True)
class Phrase:
    """A noun phrase; a count of 1 is singular, and 0 means plural without a number."""

    noun: Noun
    word: str
    count: int = 1
    definite: bool = True
    adjective: Quality | None = None

    @property
    def plural(self) -> bool:
        """Return whether the verb agrees in the plural."""
        return self.count != 1


# "Someone opened the door" means the same as "the door was opened"; "how do you open it" asks
# about anybody. Neither has a class in the word lists, so no edit replaces or swaps them.
SOMEONE = Phrase(Noun("someone", PRONOUN, "", human=True, animate=True), "someone", definite=False)
ANYBODY = Phrase(Noun("anybody", PRONOUN, "", human=True, animate=True), "anybody", definite=False)


@dataclass(frozen=True)
class Frame:
    """Who does what to whom, with what, where, when and how."""

    domain: str
    verb: Verb
    word: str  # the verb in the sentence: verb.word, a synonym, an antonym, or a hypernym
    agent: Phrase
    patient: Phrase | None = None
    receiver: Phrase | None = None
    tool: Phrase | None = None
    place: str = ""
    time: Quality | None = None
    manner: Quality | None = None
    tense: str = "past"
    negated: bool = False
    attitude: str = ""
    mood: str = "statement"

    def phrases(self) -> dict[str, Phrase]:
        """Return the filled roles by name."""
        roles = {"agent": self.agent}
        if self.patient is not None:
            roles["patient"] = self.patient
        if self.receiver is not None:
            roles["receiver"] = self.receiver
        return roles


def replace(thing: T, **changes: Any) -> T:
    """Return a copy with other values in these fields: dataclasses.replace, at a sixth of its cost.

    Only for dataclasses without checks on creation, as all of these.
    """
    copy = object.__new__(type(thing))
    copy.__dict__.update(thing.__dict__, **changes)
    return copy


def choose(random: Random, items: list[T] | tuple[T, ...]) -> T:
    """Return one of the items, by a draw that is the same in every version of Python."""
    return items[int(random.random() * len(items))]


def weighted(random: Random, items: Sequence[T], weights: Sequence[float]) -> T:
    """Return one of the items, drawn by weight."""
    point = random.random() * sum(weights)
    for item, weight in zip(items, weights, strict=True):
        point -= weight
        if point < 0:
            return item
    return items[-1]


def shuffled(random: Random, items: tuple[T, ...]) -> list[T]:
    """Return the items in another order."""
    return [item for _, item in sorted((random.random(), item) for item in items)]


def chance(random: Random, probability: float) -> bool:
    """Return True with this probability."""
    return random.random() < probability
