"""What an opinion is about, and words of praise and blame that suit it.

Reads: words_opinions, lexicon. Feeds: sentiment.
"""

from dataclasses import dataclass
from functools import cache
from random import Random

from data.bundled.frames import chance, choose
from data.bundled.lexicon import blanks, lexicon, rows
from data.bundled.words_opinions import EVALUATIONS, TOPICS


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
        """Return the whole, as a definite noun phrase."""
        return f"the {self.noun}"


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics."""
    result = []
    for row in rows(TOPICS):
        _, nouns, parts, groups, doing = (part.strip() for part in row.split("|"))
        result.append(
            Topic(_words(nouns), _words(parts), groups.split(), doing),
        )
    return tuple(result)


def _words(text: str) -> list[str]:
    return [blanks(word) for word in text.split(",")]


def draw(random: Random, split: str) -> Draw:
    """Return a random topic with one of its nouns."""
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
    """Return the thing itself as what is judged."""
    return Subject(d.it, False, d.starred)


def word(d: Draw, value: int, of: Subject) -> str:
    """Return an evaluation of this value that suits what is judged."""
    options = _options(("general",) if of.starred else tuple(d.topic.groups), value, d.split)
    held = [option for option in options if f"opinion {option}" in lexicon().held]
    return choose(d.random, held if held and chance(d.random, 0.25) else options)


@cache
def _options(groups: tuple[str, ...], value: int, split: str) -> list[str]:
    words = lexicon()
    found = [w for group in groups for w in EVALUATIONS[group].get(value, "").split()]
    return [w for w in dict.fromkeys(found) if words.allowed(f"opinion {w}", split)]


def subject(d: Draw, other_than: Subject | None = None) -> Subject:
    """Return a part that is judged."""
    while True:
        part = choose(d.random, d.topic.parts)
        name = part.removesuffix(":p")
        found = Subject(f"the {name.rstrip('*')}", name != part, name.endswith("*"))
        if found != other_than:
            return found


def sign(d: Draw) -> int:
    """Return 1 or -1."""
    return 1 if chance(d.random, 0.5) else -1


def statement(d: Draw, value: int, other_than: Subject | None = None) -> tuple[str, Subject]:
    """Return a clause that gives a part (or the whole) this value, and what it is about."""
    of = whole(d) if not other_than and chance(d.random, 0.3) else subject(d, other_than)
    return f"{of.name} {of.be(d)} {word(d, value, of)}", of
