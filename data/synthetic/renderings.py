"""Finds the renderings that fit a frame: those that express all of it and nothing else.

Reads: frames, wordlists. Feeds: grammar, pairs, wordings, triplets.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from data.synthetic.frames import DATIVE, PRONOUN, Frame, weighted
from data.synthetic.wordlists import fields, lines

END_ONLY = frozenset(lines("end_adverbs"))
MOODS = (
    "polar", "why", "where", "when", "who", "what", "how", "headline", "reported", "official",
    "hearsay",
)  # fmt: skip
TENSES = ("past", "now", "habit", "future", "perfect")
# The roles and the conditions, each in the order in which `renderings` looks at them.
ROLES = ("S", "O", "R", "W", "M", "P", "T")
TRAITS = (
    "pos", "neg", "plain", "human", "agentive", "thing", "named", "unnamed", "newS", "oldO",
    "several", "newO", "ly", "event", "dative", "inside", "early", "passive", "caption",
)  # fmt: skip
# The role that a slot expresses.
ROLE_OF_SLOT = {
    "S": "S", "S0": "S", "by": "S", "by0": "S", "O": "O", "O0": "O", "R": "R", "R0": "R",
    "receiver": "R", "W": "W", "W0": "W", "tool": "W", "M": "M", "Vm": "M", "Bm": "M",
    "P": "P", "P0": "P", "T": "T",
}  # fmt: skip
SLOT = re.compile(r"\{(!?)([\w+]+)\}")
# These synonyms make no passive: "the van was run into by" is not English.
NO_PASSIVE = frozenset(
    "run after,run into,clap for,call on,chat with,go with,get together with,run from,come to,"
    "bump into,collide with,climb down from,stay away from,wave on,look for,search for".split(",")
)
PLAIN_IN_HEADLINES = ("active", "passive", "active, time first")


@dataclass(frozen=True, eq=False)
class Pattern:
    """One rendering: its possible and required roles, its conditions, and its share."""

    name: str
    conditions: frozenset[str]
    text: str
    covers: frozenset[str]
    needs: frozenset[str]
    share: float


@cache
def patterns() -> tuple[Pattern, ...]:
    """Return all renderings, in the order in which they are written."""
    return tuple(_pattern(*fields(line)) for line in lines("patterns"))


def _pattern(name: str, conditions: str, text: str, share: str = "1") -> Pattern:
    text = text.replace("{*}", "{M} {W} {P} {T}")
    slots = SLOT.findall(text)
    covers = {ROLE_OF_SLOT[slot] for _, slot in slots if slot in ROLE_OF_SLOT}
    needs = {ROLE_OF_SLOT[slot] for mark, slot in slots if mark}
    needs |= {"M"} if {slot for _, slot in slots} & {"Vm", "Bm"} else set()
    return Pattern(
        name, frozenset(conditions.split()), text, frozenset(covers), frozenset(needs), float(share)
    )  # fmt: skip


def filled(frame: Frame) -> frozenset[str]:
    """Return the roles that a rendering must express; a rendering of "how" has no agent."""
    return _named(ROLES, _filled(frame))


def _filled(frame: Frame) -> tuple[bool, ...]:
    """Return which of ROLES are filled."""
    unnamed = frame.mood == "how" and frame.agent.noun.kind == PRONOUN
    return (
        frame.mood != "who" and not unnamed,
        frame.patient is not None and frame.mood != "what",
        frame.receiver is not None, frame.tool is not None, frame.manner is not None,
        bool(frame.place), frame.time is not None,
    )  # fmt: skip


def _traits(frame: Frame) -> tuple[bool, ...]:
    """Return which of TRAITS hold for a frame."""
    agent, patient, verb, word = frame.agent, frame.patient, frame.verb, frame.word
    human, named = agent.noun.human, agent.noun.kind != PRONOUN
    acts = bool(verb.event) and (word == verb.word or word in verb.synonyms)
    return (
        not frame.negated, frame.negated, not frame.attitude and not verb.state,
        human, agent.noun.animate, patient is not None and not patient.noun.animate,
        named, not named, not agent.definite,
        patient is not None and patient.definite,
        agent.count == 0 and not agent.definite and human,
        patient is not None and not patient.definite,
        frame.manner is not None and _leads(frame.manner.word),
        acts, word in DATIVE,
        frame.manner is None or frame.manner.word not in END_ONLY,
        frame.time is not None and frame.time.word not in END_ONLY,
        patient is not None and verb.passive and not frame.attitude and _has_passive(word),
        frame.mood == "statement" and frame.tense == "now",
    )  # fmt: skip


@cache
def _leads(manner: str) -> bool:
    """Return whether an adverb can begin a sentence."""
    return manner.endswith("ly") and manner not in ("badly", "slightly", "barely", "closely")


@cache
def _has_passive(verb: str) -> bool:
    return len(verb.split()) < 3 and verb not in NO_PASSIVE


def _named(names: tuple[str, ...], there: tuple[bool, ...]) -> frozenset[str]:
    return frozenset(name for name, holds in zip(names, there, strict=True) if holds)


def renderings(frame: Frame) -> tuple[Pattern, ...]:
    """Return the patterns that express all of a frame."""
    return _fitting(_filled(frame), _traits(frame), frame.mood, frame.tense, bool(frame.attitude))


def draw_pattern(random: Random, options: Sequence[Pattern]) -> Pattern:
    """Return one of the patterns, by their shares: plain sentences are common in real text."""
    return weighted(random, options, [pattern.share for pattern in options])


@cache
def _fitting(
    roles: tuple[bool, ...], traits: tuple[bool, ...], mood: str, tense: str, attitude: bool
) -> tuple[Pattern, ...]:
    """Return the patterns for these roles and traits; `person` is another word for human."""
    filled_roles = _named(ROLES, roles)
    held = _named(TRAITS, traits) | {tense}
    held |= {"person"} if "human" in held else set()
    found = (p for p in _of_mood(mood) if p.needs <= filled_roles <= p.covers)
    return tuple(p for p in found if _fits(p, held, attitude))


@cache
def _of_mood(mood: str) -> tuple[Pattern, ...]:
    """Return the patterns of a mood; some of those of statements make headlines too."""
    return tuple(
        pattern
        for pattern in patterns()
        if mood == next((name for name in MOODS if name in pattern.conditions), "statement")
        or (mood == "headline" and pattern.name in PLAIN_IN_HEADLINES)
    )


def _fits(pattern: Pattern, traits: frozenset[str], attitude: bool) -> bool:
    # "Someone did not open it" leaves open whether others did; "it was not opened" does not.
    denied = {"neg", "passive"} <= traits and "named" not in traits
    if denied and "passive" not in pattern.conditions:
        return False
    tenses = pattern.conditions & {*TENSES}
    if tenses and not tenses & traits:
        return False
    if pattern.text.startswith("{!T}") and "early" not in traits:
        return False
    if "{Vm}" in pattern.text or "{Bm}" in pattern.text:
        if "inside" not in traits or attitude:
            return False
    return pattern.conditions - {*TENSES, *MOODS} <= traits
