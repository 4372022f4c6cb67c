"""The subjects of opinions, and the fitting words and phrases of praise and blame.

Reads: wordlists, vocabulary, morphology, frames. Feeds: sentiment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from data.synthetic.frames import chance, choose
from data.synthetic.morphology import article
from data.synthetic.vocabulary import lexicon
from data.synthetic.wordlists import fields, groups, items, lines

NEW_SHARE = 0.95  # share of dev and test rows with opinions that train never uses, if possible
SLOT = re.compile(r"\{(\w+)(?::(-?\d))?\}")
SINGULAR, PLURAL = ":s", ":p"  # marks of entries for subjects of one number only


@dataclass(frozen=True)
class Topic:
    """Something to have an opinion on, and the verbs for using it."""

    name: str
    nouns: list[str]
    parts: list[str]
    groups: tuple[str, ...]
    doing: str
    done: str


@dataclass(frozen=True)
class Draw:
    """The input of a maker: a topic, a noun of it, and the words that the split may use."""

    random: Random
    split: str
    topic: Topic
    noun: str
    starred: bool  # only general words fit the noun
    then: bool  # told in the past tense
    new: bool  # only with held-out words and phrases, if there are any

    @property
    def it(self) -> str:
        """Return the whole as a definite noun phrase."""
        return f"the {self.noun}"


@dataclass(frozen=True)
class Subject:
    """The subject of the opinion: the whole or a part of it."""

    name: str
    plural: bool
    starred: bool

    def be(self, d: Draw) -> str:
        """Return the agreeing form of `to be`."""
        if d.then:
            return "were" if self.plural else "was"
        return "are" if self.plural else "is"


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics."""
    rows = (fields(line) for line in lines("topics"))
    return tuple(
        Topic(name, items(nouns), items(parts), tuple(kinds.split()), doing, done)
        for name, nouns, parts, kinds, doing, done in rows
    )


def draw(random: Random, split: str) -> Draw:
    """Return a draw with a random topic and one of its nouns."""
    topic = choose(random, topics())
    noun = choose(random, topic.nouns)
    then, new = chance(random, 0.6), split != "train" and chance(random, NEW_SHARE)
    return Draw(random, split, topic, noun.rstrip("*"), noun.endswith("*"), then, new)


def whole(d: Draw) -> Subject:
    """Return the whole as the subject."""
    return Subject(d.it, False, d.starred)


def part(d: Draw, other_than: Subject | None = None) -> Subject:
    """Return a random part as the subject."""
    while True:
        item = choose(d.random, d.topic.parts)
        name = item.removesuffix(PLURAL)
        found = Subject(f"the {name.rstrip('*')}", name != item, name.endswith("*"))
        if found != other_than:
            return found


def pick(d: Draw, options: Sequence[str]) -> str:
    """Return one of the options: a held-out one if the row must be new, else another.

    `holdout` decides which options are held out.
    """
    here, common = _by_part(tuple(options), d.split)
    return choose(d.random, here if d.new and here else common)


@cache
def _by_part(options: tuple[str, ...], split: str) -> tuple[list[str], list[str]]:
    """Return the options that only this split may use, and those of all parts."""
    held = lexicon().held
    parts = [(option, held.get(f"opinion {option}", "train")) for option in options]
    here = [option for option, part in parts if part == split]
    return here, [option for option, part in parts if part == "train"]


def kinds_for(d: Draw, of: Subject) -> tuple[str, ...]:
    """Return the groups of evaluations that fit a subject."""
    return ("general",) if of.starred else d.topic.groups


@cache
def entries(
    name: str, kinds: tuple[str, ...], value: int, plural: bool, shape: str = ""
) -> tuple[str, ...]:
    """Return a list's entries of this value and shape for these groups and the subject's number."""
    found = [item for kind in kinds for item in groups(name).get(f"{kind} {value}", [])]
    other = SINGULAR if plural else PLURAL
    suit = (item for item in found if not item.endswith(other) and re.search(shape, item))
    return tuple(dict.fromkeys(suit))


def suited(d: Draw, name: str, value: int, of: Subject, shape: str = "") -> str:
    """Return an entry of a list that fits the subject and the shape (a regular expression)."""
    chosen = pick(d, entries(name, kinds_for(d, of), value, of.plural, shape))
    return chosen.removesuffix(SINGULAR).removesuffix(PLURAL)


ONE_WORD = r"^\S+$"
WITH_ARTICLE = "^(a|an|the) "


def graded(d: Draw, value: int, of: Subject) -> str:
    """Return an adjective that takes an adverb of degree."""
    options = entries("evaluations", kinds_for(d, of), value, of.plural, ONE_WORD)
    ungraded = groups("degrees")["ungraded"]
    return pick(d, [word for word in options if word not in ungraded])


def _with_degree(d: Draw, degree: str, value: int, of: Subject) -> str:
    options = groups("degrees")[degree]
    if degree == "weaker" and value < 0:
        options = options + groups("degrees")["weaker blame"]
    return f"{choose(d.random, options)} {graded(d, value, of)}"


def fill(d: Draw, form: str) -> str:
    """Return a form with its slots filled; composed.txt explains them."""
    of, it = part(d), whole(d)
    names = {
        "part": of.name, "bare": of.name.removeprefix("the "), "be": of.be(d),
        "has": "have" if of.plural else "has", "it": d.it, "noun": d.noun,
        "a_noun": article(d.noun), "was": it.be(d), "doing": d.topic.doing, "done": d.topic.done,
    }  # fmt: skip

    def word(slot: re.Match[str]) -> str:
        name, value = slot.group(1), int(slot.group(2) or 0)
        return names[name] if slot.group(2) is None else _evaluation(d, name, value, of)

    return SLOT.sub(word, form)


def _evaluation(d: Draw, slot: str, value: int, of: Subject) -> str:
    """Return the text for a slot with a value."""
    it = whole(d)
    match slot:
        case "pred" | "attr":
            return suited(d, "evaluations", value, of, "" if slot == "pred" else ONE_WORD)
        case "itpred" | "itattr":
            return suited(d, "evaluations", value, it, "" if slot == "itpred" else ONE_WORD)
        case "a":
            return article(suited(d, "evaluations", value, it, ONE_WORD))
        case "verdict" | "thing":
            return suited(d, "verdicts", value, it, "" if slot == "verdict" else WITH_ARTICLE)
        case "grade":
            return graded(d, value, of)
        case _:
            degree = {"strong": "stronger", "weak": "weaker", "even": "even"}[slot]
            return _with_degree(d, degree, value, of)


def statement(d: Draw, value: int, of: Subject) -> str:
    """Return a clause that gives the subject this value: an adjective, a verb phrase or a noun."""
    kind = d.random.random()
    if kind < 0.4 and d.then:
        return f"{of.name} {suited(d, 'predicates', value, of)}"
    if kind > 0.8 and of == whole(d):
        return f"{of.name} {of.be(d)} {suited(d, 'verdicts', value, of)}"
    return f"{of.name} {of.be(d)} {suited(d, 'evaluations', value, of)}"


@cache
def _held_out(split: str) -> list[re.Pattern[str]]:
    """Return the pattern of the words and phrases of opinion that occur only in this part."""
    found = [
        owner.removeprefix("opinion ").removesuffix(SINGULAR).removesuffix(PLURAL)
        for owner, where in lexicon().held.items()
        if owner.startswith("opinion ") and where == split
    ]
    texts = (".+".join(map(re.escape, re.split(r"\{[^}]*\}", text))) for text in found)
    return [re.compile(rf"(?<!\w){text}(?!\w)", re.IGNORECASE) for text in texts]


def holds_new_opinion(text: str, split: str) -> bool:
    """Return whether a text has a word or phrase of opinion that occurs only in this part."""
    return any(pattern.search(text) for pattern in _held_out(split))
