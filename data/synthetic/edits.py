"""Edits that change the meaning of a frame, and `reword`, which does not.

An edit returns a new frame, or None if it makes no sense: a chef and an onion cannot swap their
roles. Reads: frames, vocabulary. Feeds: sampling, changes, graded, triplets.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from data.synthetic.frames import Frame, Phrase, chance, choose, replace
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import Noun, Quality, Verb, apart, tokens

Edit = Callable[[Frame, Random, str], Frame | None]


def swap_roles(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with swapped roles: a bag of words sees no difference."""
    patient, agent = frame.patient, frame.agent
    if patient is None or agent.plural != patient.plural or frame.mood in ("who", "what"):
        return None
    if frame.verb.symmetric:
        return None
    if frame.receiver is not None:
        fits = agent.noun in frame.verb.receivers and frame.receiver.noun in frame.verb.agents
        same = fits and agent.plural == frame.receiver.plural
        return replace(frame, agent=frame.receiver, receiver=agent) if same else None
    if patient.noun not in frame.verb.agents or agent.noun not in frame.verb.patients:
        return None
    return replace(frame, agent=patient, patient=agent)


def swap_adjectives(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with the adjectives of agent and patient swapped."""
    agent, patient = frame.agent, frame.patient
    if patient is None or not agent.adjective or not patient.adjective:
        return None
    mine, theirs = agent.adjective, patient.adjective
    if _alike(mine) & set(words_of(theirs)):
        return None
    if not (_takes(agent.noun, theirs) and _takes(patient.noun, mine)):
        return None
    return replace(
        frame,
        agent=replace(agent, adjective=theirs),
        patient=replace(patient, adjective=mine),
    )


def _takes(noun: Noun, adjective: Quality) -> bool:
    qualities = [quality for group in noun.groups for quality in lexicon().adjectives[group]]
    # With all synonyms: a group may have a word without the synonyms of another group.
    fits = any(set(words_of(adjective)) <= set(words_of(quality)) for quality in qualities)
    return fits and not repeats(noun, adjective)


def words_of(quality: Quality) -> tuple[str, ...]:
    """Return a quality and its synonyms, itself first."""
    return quality.word, *quality.synonyms


def _alike(quality: Quality) -> set[str]:
    """Return the words of a quality and their synonyms in all groups of adjectives.

    A "little" bird is a small one, but a "little" child a young one: exchanged with "young", it
    may be read as no change.
    """
    return {word for said in words_of(quality) for word in (said, *_synonyms().get(said, ()))}


@cache
def _synonyms() -> dict[str, set[str]]:
    """Return the synonyms of each adjective in any group."""
    found: dict[str, set[str]] = {}
    for quality in (quality for group in lexicon().adjectives.values() for quality in group):
        for word in words_of(quality):
            found.setdefault(word, set()).update(words_of(quality))
    return found


@cache
def repeats(noun: Noun, quality: Quality) -> bool:
    """Return whether an adjective or its opposite repeats a word of a noun: "red red cabbage"."""
    return not noun.tokens.isdisjoint(_tokens(quality))


@cache
def _tokens(quality: Quality) -> frozenset[str]:
    return tokens((*words_of(quality), *quality.opposites))


def negate(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the denial, or the denied frame; without manner, so the denied part is clear."""
    return replace(frame, manner=None, negated=not frame.negated)


def other_number(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with another number of participants, if it has a number."""
    roles = [(name, phrase) for name, phrase in frame.phrases().items() if phrase.count > 1]
    if not roles:
        return None
    name, phrase = choose(random, roles)
    count = 2 + int(random.random() * 9)
    return None if count == phrase.count else with_role(frame, name, replace(phrase, count=count))


def with_role(frame: Frame, role: str, phrase: Phrase) -> Frame:
    """Return the frame with this phrase in a role."""
    return replace(frame, **{role: phrase})


def other_place(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame in another place where it can happen."""
    if not frame.place:
        return None
    # "in" for "at" would already indicate another place.
    preposition = frame.place.split()[0]
    places = [
        place
        for place in places_of(frame.verb, split)
        if place != frame.place and place.split()[0] == preposition
    ]
    if not places:
        return None
    # A place with two names, if the other also has two names: then no single word is a sign.
    rich = [place for place in places if place_said_twice(place)]
    return replace(frame, place=choose(random, rich or places))


def place_said_twice(place: str) -> bool:
    """Return whether a place has two names without a common word."""
    synonym = lexicon().place_synonyms.get(place)
    return synonym is not None and apart((place, synonym))


@cache
def places_of(verb: Verb, split: str) -> list[str]:
    """Return the places where a verb can happen in a split; do not change the list."""
    words = lexicon()
    places = list(verb.places) or words.places[verb.domain]
    return [
        place
        for place in places
        if words.allowed(place, split)
        and not stumbles(verb.particles, place, words.place_synonyms.get(place, place))
    ]


def stumbles(particles: frozenset[str], *details: str) -> bool:
    """Return whether a time or place repeats a verb's last word: "pointed at at the market"."""
    return bool(particles) and any(detail.split()[0] in particles for detail in details)


def stumbles_at(verb: Verb, time: Quality) -> bool:
    """Return whether a time, in any of its words, repeats a verb's last word."""
    return stumbles(verb.particles, *words_of(time))


def other_time(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame at another time, which excludes the first one."""
    if frame.time is None or not frame.time.opposites:
        return None
    time = _known(lexicon().times[frame.tense], choose(random, frame.time.opposites))
    return None if stumbles_at(frame.verb, time) else replace(frame, time=time)


def _known(qualities: list[Quality], word: str) -> Quality:
    """Return the quality of this word, or a new one."""
    for quality in qualities:
        if word in words_of(quality):
            return quality
    return Quality(word)


def opposite_adjective(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with the opposite of one adjective."""
    roles = [item for item in frame.phrases().items() if item[1].adjective]
    if not roles:
        return None
    name, phrase = choose(random, roles)
    assert phrase.adjective
    if not phrase.adjective.opposites:
        return None
    word = choose(random, phrase.adjective.opposites)
    groups = [q for group in phrase.noun.groups for q in lexicon().adjectives[group]]
    return with_role(frame, name, replace(phrase, adjective=_known(groups, word)))


def opposite_manner(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame done in the opposite manner."""
    if frame.manner is None or not frame.manner.opposites:
        return None
    word = choose(random, frame.manner.opposites)
    known = [q for group in frame.verb.manners for q in lexicon().adverbs[group]]
    return replace(frame, manner=_known(known, word))


def opposite_verb(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with the opposite act."""
    if not frame.verb.antonym or frame.word == frame.verb.antonym:
        return None
    return replace(frame, word=frame.verb.antonym, manner=None, tool=None, receiver=None)


@cache
def verbs_of(domain: str, split: str) -> list[Verb]:
    """Return the verbs of a domain that a split may use; do not change the list."""
    words = lexicon()
    return [verb for verb in words.domains[domain] if words.allowed(verb.word, split)]


def generalise(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with one hypernym; a noun loses its adjective, which may not fit."""
    taken = [phrase.word for phrase in frame.phrases().values()]
    options: list[tuple[str, Phrase | None]] = [
        (name, phrase)
        for name, phrase in frame.phrases().items()
        if phrase.noun.hypernym and phrase.word != phrase.noun.hypernym
        and phrase.noun.hypernym not in taken
    ]  # fmt: skip
    if frame.verb.hypernym and frame.word in (frame.verb.word, *frame.verb.synonyms):
        options.append(("verb", None))
    if not options:
        return None
    name, phrase = choose(random, options)
    if phrase is None:
        return replace(frame, word=frame.verb.hypernym)
    return with_role(frame, name, replace(phrase, word=phrase.noun.hypernym, adjective=None))


def drop_detail(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame without one of its details."""
    options: list[Frame] = []
    for name, phrase in frame.phrases().items():
        if phrase.adjective:
            options.append(with_role(frame, name, replace(phrase, adjective=None)))
    if frame.tool:
        options.append(replace(frame, tool=None))
    if frame.manner:
        options.append(replace(frame, manner=None))
    if frame.place:
        options.append(replace(frame, place=""))
    if frame.time and frame.tense != "habit":
        options.append(replace(frame, time=None))
    return choose(random, options) if options else None


def reword(frame: Frame, random: Random, share: float) -> Frame:
    """Return the same meaning with synonyms, each used with the probability `share`."""
    changes: dict[str, Any] = {}  # fields of the frame
    for name, phrase in frame.phrases().items():
        word = phrase.word
        if word == phrase.noun.word and phrase.noun.synonyms and chance(random, share):
            word = choose(random, phrase.noun.synonyms)
        adjective = _say(phrase.adjective, random, share)
        if word != phrase.word or adjective is not phrase.adjective:
            changes[name] = replace(phrase, word=word, adjective=adjective)
    if frame.word == frame.verb.word and frame.verb.synonyms and chance(random, share):
        changes["word"] = choose(random, frame.verb.synonyms)
    other = lexicon().place_synonyms.get(frame.place)
    if other and chance(random, share):
        changes["place"] = other
    changes["manner"] = _say(frame.manner, random, share)
    changes["time"] = _say(frame.time, random, share)
    return replace(frame, **changes)


def _say(quality: Quality | None, random: Random, share: float) -> Quality | None:
    if quality is None or not quality.synonyms or not chance(random, share):
        return quality
    return replace(quality, word=choose(random, quality.synonyms))
