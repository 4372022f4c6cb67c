"""Premises that contain all words of their hypotheses, by the heuristic that fails on them.

A model that takes overlap for entailment is right on half of the rows and wrong on all others, as
in HANS (McCoy et al. 2019), whose subcases these are; templates and words are ours.
Reads: edits, grammar, morphology, sampling, vocabulary, wordlists. Feeds: suites.
"""

from dataclasses import dataclass
from functools import cache
from random import Random

from data.synthetic.edits import places_of, verbs_of
from data.synthetic.frames import Phrase, choose
from data.synthetic.grammar import bare_phrase, finish, noun_phrase
from data.synthetic.morphology import participle, past
from data.synthetic.pairs import Example
from data.synthetic.renderings import NO_PASSIVE
from data.synthetic.sampling import between_people
from data.synthetic.vocabulary import lexicon
from data.synthetic.wordlists import fields, groups, lines
from data.synthetic.words import Noun, Verb

HEURISTICS = {"l": "lexical_overlap", "s": "subsequence", "c": "constituent"}
LABELS = {"e": "entailment", "n": "non-entailment"}
WORDS = groups("heuristic_words")
NUMBERS = (1, 1, 1, 0)  # one, or several without a number


def _templates() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for name, premise, hypothesis in map(fields, lines("heuristics")):
        found.setdefault(name, []).append((premise, hypothesis))
    return found


TEMPLATES = _templates()  # premises and hypotheses by subcase


def heuristic(subcase: str) -> str:
    """Return the heuristic that a subcase tests."""
    return HEURISTICS[subcase[0]]


def overlapping_pair(random: Random, split: str, subcase: str) -> Example:
    """Return premise and hypothesis of a subcase, labelled "entailment" or "non-entailment"."""
    while True:
        premise, hypothesis = choose(random, TEMPLATES[subcase])
        slots = _slots(random, split, premise)
        if slots:
            texts = finish(premise.format(**slots)), finish(hypothesis.format(**slots))
            return Example(texts, LABELS[subcase[1]], subcase)


@dataclass(frozen=True)
class _Acts:
    """Acts that the same people can do: two acts on one another, and one without an object."""

    first: Verb
    second: Verb
    alone: Verb


def _slots(random: Random, split: str, premise: str) -> dict[str, str] | None:
    """Return a text for each slot of a premise, or None if the draw does not fit."""
    if "{thing}" in premise:
        return _object_and_act(random, split)
    acts = _acts(random, split, WORDS["person"] if "{o}" in premise else None)
    people = _people(random, split, acts) if acts else None
    if acts is None or people is None:
        return None
    numbers = [0 if "{many}" in premise else choose(random, NUMBERS) for _ in people]
    phrases = [Phrase(noun, noun.word, n) for noun, n in zip(people, numbers, strict=True)]
    slots = dict(zip("abc", map(noun_phrase, phrases), strict=True))
    slots |= {name: choose(random, words) for name, words in WORDS.items()}
    first = past(acts.first.word)
    slots |= {"v": first, "o": first, "w": past(acts.second.word), "l": past(acts.alone.word)}
    qualities = _qualities(people[0], split)
    slots["place"] = choose(random, places_of(acts.first, split))
    slots |= {"many": bare_phrase(phrases[0]), "adjective": choose(random, qualities)}
    return slots | {"was": "were" if phrases[0].plural else "was"}


def _acts(random: Random, split: str, among: list[str] | None) -> _Acts | None:
    """Return acts of one domain, the first one of these words if they are given."""
    verbs = verbs_of(choose(random, list(lexicon().domains)), split)
    on_others = [verb for verb in verbs if _has_victim(verb)]
    firsts = [verb for verb in on_others if among is None or verb.word in among]
    alone = [verb for verb in verbs if not verb.patients]
    if not firsts or not alone:
        return None
    acts = _Acts(choose(random, firsts), choose(random, on_others), choose(random, alone))
    first, second = acts.first, acts.second
    related = {first.word, *first.synonyms, first.antonym}
    return None if related & {second.word, *second.synonyms} else acts


@cache
def _has_victim(verb: Verb) -> bool:
    """Return whether the roles matter, and the passive has the same words."""
    one_form = past(verb.word) == participle(verb.word)
    asymmetric = between_people(verb) and not verb.symmetric
    return asymmetric and one_form and verb.passive and verb.word not in NO_PASSIVE


def _people(random: Random, split: str, acts: _Acts) -> list[Noun] | None:
    """Return three people who can do all of this, with no word for two of them."""
    words = lexicon()
    first, second, alone = acts.first, acts.second, acts.alone
    wanted = (first.patients, second.agents, second.patients, alone.agents)
    able = set.intersection(*map(set, wanted))
    pool = [
        noun
        for noun in first.agents
        if noun.human and noun.groups and noun in able and words.allowed(noun.word, split)
    ]
    if len(pool) < 3:
        return None
    people = [choose(random, pool) for _ in range(3)]
    names = [name for noun in people for name in (noun.word, *noun.synonyms)]
    general = {noun.hypernym for noun in people}
    distinct = len(set(names)) == len(names) and not general & set(names)
    return people if distinct else None


def _qualities(noun: Noun, split: str) -> list[str]:
    """Return the adjectives of a noun that a split may use."""
    words = lexicon()
    return [
        quality.word
        for group in noun.groups
        for quality in words.adjectives[group]
        if words.allowed(min([quality.word, *quality.opposites[:1]]), split)
    ]


def _object_and_act(random: Random, split: str) -> dict[str, str] | None:
    """Return somebody, an act that needs no object, and an object."""
    words = lexicon()
    verbs = verbs_of(choose(random, list(words.domains)), split)
    verbs = [verb for verb in verbs if verb.word in WORDS["object"] and verb.patients]
    if not verbs:
        return None
    verb = choose(random, verbs)
    agents = [noun for noun in verb.agents if noun.human and words.allowed(noun.word, split)]
    objects = [noun for noun in verb.patients if words.allowed(noun.word, split)]
    if not agents or not objects:
        return None
    agent, thing = choose(random, agents), choose(random, objects)
    return {
        "a": noun_phrase(Phrase(agent, agent.word, choose(random, NUMBERS))),
        "makes": past(verb.word),
        "thing": noun_phrase(Phrase(thing, thing.word, choose(random, NUMBERS))),
    }
