"""Edits by name: with the same words, with opposites, and with other participants and acts.

Reads: edits, frames, vocabulary. Feeds: twins, graded, inference.
"""

from functools import cache
from random import Random
from typing import TypeVar

from data.synthetic.edits import (
    Edit,
    negate,
    opposite_adjective,
    opposite_manner,
    opposite_verb,
    other_number,
    other_place,
    other_time,
    place_said_twice,
    places_of,
    stumbles_at,
    swap_adjectives,
    swap_roles,
    verbs_of,
    with_role,
)
from data.synthetic.frames import Frame, chance, choose, replace
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import Noun, Verb, apart

T = TypeVar("T", Noun, Verb)

RICH = 0.85  # share of replacing nouns and verbs that have a synonym, if there are any


def other_verb(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with another act by the same agent on the same patient."""
    patient = frame.patient.noun if frame.patient else None
    with_agent = _takers(frame.verb.domain, "agent").get(frame.agent.noun, set())
    with_patient = _takers(frame.verb.domain, "patient").get(patient, set())
    verbs = [
        verb
        for verb in _unlike(frame.verb, "" if frame.word in frame.verb.names else frame.word, split)
        if verb in with_agent
        and verb in with_patient
        and not (verb.state and frame.tense != "past")
    ]
    if frame.time:
        verbs = [verb for verb in verbs if not stumbles_at(verb, frame.time)]
    if not verbs:
        return None
    verb = _richer(random, verbs)
    return replace(frame, verb=verb, word=verb.word, manner=None, tool=None, receiver=None)


@cache
def _unlike(verb: Verb, word: str, split: str) -> list[Verb]:
    """Return the verbs of the domain that are not related to a verb or its synonyms.

    Words with the same more general act are related: to shove is not a different act from to push.
    """
    near = said_of(verb) | {word}
    return [other for other in verbs_of(verb.domain, split) if near.isdisjoint(other.names)]


@cache
def _takers(domain: str, role: str) -> dict[Noun | None, set[Verb]]:
    """Return the verbs of a domain by the nouns they take in a role; None where they take none."""
    found: dict[Noun | None, set[Verb]] = {}
    for verb in lexicon().domains[domain]:
        for noun in (verb.agents if role == "agent" else verb.patients) or (None,):
            found.setdefault(noun, set()).add(verb)
    return found


@cache
def said_of(verb: Verb) -> frozenset[str]:
    """Return the words of a verb and of its related verbs, with their synonyms in all domains."""
    return verb.names.union(*(_synonyms().get(name, ()) for name in verb.names))


@cache
def _synonyms() -> dict[str, set[str]]:
    """Return, by word, its synonyms in verbs of any domain."""
    found: dict[str, set[str]] = {}
    for verb in (verb for verbs in lexicon().domains.values() for verb in verbs):
        for word in (verb.word, *verb.synonyms):
            found.setdefault(word, set()).update((verb.word, *verb.synonyms))
    return found


def _richer(random: Random, entries: list[T]) -> T:
    """Return one of the nouns or verbs, most often one that has a synonym of other words.

    A word without a synonym in only one of the texts always means a difference.
    """
    rich = [entry for entry in entries if said_twice(entry)]
    return choose(random, rich if rich and chance(random, RICH) else entries)


def said_twice(entry: Noun | Verb) -> bool:
    """Return whether a noun or verb has two names without a common word."""
    return apart((entry.word, *entry.synonyms))


def other_noun(role: str) -> Edit:
    """Return the edit that replaces the agent or patient by another of the same class."""

    def edit(frame: Frame, random: Random, split: str) -> Frame | None:
        nouns = _nouns_for(frame, role, split)
        if not nouns:
            return None
        noun = _richer(random, nouns)
        return with_role(frame, role, replace(frame.phrases()[role], noun=noun, word=noun.word))

    return edit


def far_noun(role: str) -> Edit:
    """Return the edit that replaces the agent or patient by one of another class, if there is one.

    If the verb takes a single class, the replacement is from that class.
    """

    def edit(frame: Frame, random: Random, split: str) -> Frame | None:
        nouns = _nouns_for(frame, role, split, groups=False)
        kind = frame.phrases()[role].noun.kind if nouns else ""
        far = [noun for noun in nouns if noun.kind != kind] or nouns
        if not far:
            return None
        noun = _richer(random, far)
        # An adjective of one class may not fit the other.
        phrase = replace(frame.phrases()[role], noun=noun, word=noun.word, adjective=None)
        return with_role(frame, role, phrase)

    return edit


def with_synonyms(frame: Frame, role: str, random: Random, split: str) -> Frame:
    """Return the frame, most often with a noun in this role that has a synonym, if there is one."""
    rich = [noun for noun in _nouns_for(frame, role, split) if said_twice(noun)]
    if not rich or not chance(random, RICH) or said_twice(frame.phrases()[role].noun):
        return frame
    noun = choose(random, rich)
    return with_role(frame, role, replace(frame.phrases()[role], noun=noun, word=noun.word))


def with_place(frame: Frame, random: Random, split: str) -> Frame:
    """Return the frame somewhere, most often at a place that has a synonym, if there is one."""
    places = places_of(frame.verb, split)
    rich = [place for place in places if place_said_twice(place)]
    return replace(frame, place=choose(random, rich or places)) if places else frame


def _nouns_for(frame: Frame, role: str, split: str, groups: bool = True) -> list[Noun]:
    """Return the other nouns that can take a role; of the same `groups`, or any."""
    phrase = frame.phrases().get(role)
    if phrase is None:
        return []
    taken = {word for p in frame.phrases().values() for word in (p.word, *p.noun.synonyms)}
    nouns = _alike(frame.verb, role, phrase.noun, split, groups)
    return [noun for noun in nouns if not taken & noun.names]


@cache
def _alike(verb: Verb, role: str, noun: Noun, split: str, groups: bool) -> list[Noun]:
    """Return the nouns that a verb accepts in a role; with `groups`, those of the same adjectives.

    People are replaced by people only.
    """
    choices = verb.agents if role == "agent" else verb.patients
    return [
        other
        for other in choices
        if (other.groups == noun.groups or not groups)
        and other.human == noun.human
        and other.word != noun.hypernym
        and lexicon().allowed(other.word, split)
    ]


# The part that a question asks for and does not state.
ASKED = {"who": "agent", "what": "patient", "where": "place", "when": "time"}


def shows(frame: Frame, other: Frame) -> bool:
    """Return whether two frames differ in more than the questioned part."""
    asked = ASKED.get(frame.mood) if frame.mood == other.mood else None
    return frame != (replace(other, **{asked: getattr(frame, asked)}) if asked else other)


# Edits that change the meaning and leave nearly all words as they are.
EDITS: dict[str, Edit] = {
    "role swap": swap_roles,
    "adjective swap": swap_adjectives,
    "negation": negate,
    "number": other_number,
    "place": other_place,
    "time": other_time,
    "antonym adjective": opposite_adjective,
    "antonym manner": opposite_manner,
    "antonym verb": opposite_verb,
    "other agent": other_noun("agent"),
    "other patient": other_noun("patient"),
    "other verb": other_verb,
    "far agent": far_noun("agent"),
    "far patient": far_noun("patient"),
}
