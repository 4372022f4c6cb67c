"""The subjects of opinions, and words of praise and blame that suit them.

Reads: wordlists, vocabulary. Feeds: sentiment.
"""

from dataclasses import dataclass
from functools import cache
from random import Random

from data.bundled.frames import chance, choose
from data.bundled.vocabulary import lexicon
from data.bundled.wordlists import fields, groups, items, lines

EVALUATIONS = groups("evaluations")


@dataclass(frozen=True)
class Topic:
    """Something to have an opinion on."""

    nouns: list[str]
    parts: list[str]
    groups: list[str]
    doing: str


@dataclass(frozen=True)
class Draw:
    """What a maker draws from: a topic, a noun of it, and the words the split may use."""

    random: Random
    split: str
    topic: Topic
    noun: str
    starred: bool  # only general words suit the noun
    then: bool  # told in the past tense

    @property
    def it(self) -> str:
        """Return the whole as a definite noun phrase."""
        return f"the {self.noun}"


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics."""
    rows = (fields(line) for line in lines("topics"))
    return tuple(
        Topic(items(nouns), items(parts), evaluations.split(), doing)
        for _, nouns, parts, evaluations, doing in rows
    )


def draw(random: Random, split: str) -> Draw:
    """Return a draw with a random topic and one of its nouns."""
    topic = choose(random, topics())
    noun = choose(random, topic.nouns)
    return Draw(random, split, topic, noun.rstrip("*"), noun.endswith("*"), chance(random, 0.5))


@dataclass(frozen=True)
class Subject:
    """What is judged: the whole or a part of it."""

    name: str
    plural: bool
    starred: bool

    def be(self, d: Draw) -> str:
        """Return the agreeing form of `to be`."""
        if d.then:
            return "were" if self.plural else "was"
        return "are" if self.plural else "is"


def whole(d: Draw) -> Subject:
    """Return the whole as the subject."""
    return Subject(d.it, False, d.starred)


def word(d: Draw, value: int, of: Subject) -> str:
    """Return an evaluation of this value that suits the subject."""
    options = _options(("general",) if of.starred else tuple(d.topic.groups), value, d.split)
    held = [option for option in options if f"opinion {option}" in lexicon().held]
    return choose(d.random, held if held and chance(d.random, 0.25) else options)


@cache
def _options(kinds: tuple[str, ...], value: int, split: str) -> list[str]:
    words = lexicon()
    found = [w for kind in kinds for w in EVALUATIONS[f"{kind} {value}"]]
    return [w for w in dict.fromkeys(found) if words.allowed(f"opinion {w}", split)]


def subject(d: Draw, other_than: Subject | None = None) -> Subject:
    """Return a random part as the subject."""
    while True:
        part = choose(d.random, d.topic.parts)
        name = part.removesuffix(":p")
        found = Subject(f"the {name.rstrip('*')}", name != part, name.endswith("*"))
        if found != other_than:
            return found


def sign(d: Draw) -> int:
    """Return 1 or -1, at random."""
    return 1 if chance(d.random, 0.5) else -1


def statement(d: Draw, value: int, other_than: Subject | None = None) -> tuple[str, Subject]:
    """Return a clause that gives a part or the whole this value, and its subject."""
    of = whole(d) if not other_than and chance(d.random, 0.3) else subject(d, other_than)
    return f"{of.name} {of.be(d)} {word(d, value, of)}", of
