"""The entries of the lexicon: nouns, verbs and qualities with their relations.

Feeds: holdout, vocabulary, frames.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property

SPLITS = ("train", "dev", "test")
PLACE = re.compile(r"^(in|on|at|near|behind|in front of|outside|along) the ")
FUNCTION_WORDS = frozenset(
    "a an the of in on at to for up down out off away with by into after back from over about or "
    "and it no not then all here there near behind outside along upstairs under than is was until "
    "this".split()
)


def tokens(names: Iterable[str]) -> frozenset[str]:
    """Return the single words of names: "second" and "hand" of "second-hand"."""
    return frozenset(token for name in names for token in name.replace("-", " ").split())


@cache
def apart(phrases: tuple[str, ...]) -> bool:
    """Return whether there are two phrases or more, and no word is in two of them.

    The first words of places, such as "in the", are not counted: other places have them too.
    """
    words = [word for phrase in phrases for word in set(PLACE.sub("", phrase).split())]
    return len(phrases) > 1 and len(words) == len(set(words))


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun; `groups` names the adjectives it takes, `animate` says that it can act."""

    word: str
    kind: str
    hypernym: str
    synonyms: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    human: bool = False
    animate: bool = False

    @cached_property
    def own(self) -> frozenset[str]:
        """Return the words for the noun."""
        return frozenset({self.word, *self.synonyms})

    @cached_property
    def last_words(self) -> frozenset[str]:
        """Return the last words of the noun's names."""
        return frozenset(word.split()[-1] for word in self.own)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the words for the noun, its hypernym included."""
        return self.own | ({self.hypernym} if self.hypernym else set())

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Return the single words of all of these."""
        return tokens(self.names)


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in one domain, with the nouns it accepts."""

    word: str
    domain: str
    agents: tuple[Noun, ...]
    patients: tuple[Noun, ...]  # () for verbs without an object
    tools: tuple[Noun, ...] = ()
    receivers: tuple[Noun, ...] = ()
    manners: tuple[str, ...] = ()  # names of groups of adverbs
    places: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    antonym: str = ""
    hypernym: str = ""
    event: str = ""  # the noun for the event
    symmetric: bool = False
    state: bool = False
    passive: bool = True

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the verb's words, and those that are related to it."""
        own = {self.word, *self.synonyms, self.antonym, self.hypernym}
        return frozenset(own - {""})

    @cached_property
    def particles(self) -> frozenset[str]:
        """Return the last words of these: "at" of "point at"."""
        return frozenset(name.split()[-1] for name in self.names if " " in name)


@dataclass(frozen=True)
class Quality:
    """An adjective, adverb or time, with its synonyms and opposites."""

    word: str
    synonyms: tuple[str, ...] = ()
    opposites: tuple[str, ...] = ()


@dataclass
class Lexicon:
    """All words; built once, never changed."""

    kinds: dict[str, list[Noun]] = field(default_factory=dict)
    domains: dict[str, list[Verb]] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    adjectives: dict[str, list[Quality]] = field(default_factory=dict)
    adverbs: dict[str, list[Quality]] = field(default_factory=dict)
    times: dict[str, list[Quality]] = field(default_factory=dict)
    place_synonyms: dict[str, str] = field(default_factory=dict)
    owners: dict[str, dict[str, None]] = field(default_factory=dict)  # token: its users
    forms: dict[str, list[str]] = field(default_factory=dict)  # owner: its word and synonyms
    held: dict[str, str] = field(default_factory=dict)  # owner: dev or test

    def allowed(self, word: str, split: str) -> bool:
        """Return whether a word may occur in a part of the data."""
        return self.held.get(word, split) == split

    def held_tokens(self, split: str) -> list[str]:
        """Return the words that occur only in this part (dev or test)."""
        return [
            token
            for token, users in self.owners.items()
            if len(users) == 1 and self.held.get(next(iter(users))) == split
        ]
