"""Finds the renderings that fit a frame: those that say all of it and nothing else.

Reads: frames, wordlists. Feeds: grammar, pairs, wordings, triplets.
"""

import re
from dataclasses import dataclass
from functools import cache
from random import Random

from data.bundled.frames import DATIVE, PRONOUN, Frame
from data.bundled.wordlists import fields, lines

END_ONLY = frozenset(lines("end_adverbs"))
MOODS = (
    "polar", "why", "where", "when", "who", "what", "how", "headline", "reported", "official",
    "hearsay",
)  # fmt: skip
TENSES = ("past", "now", "habit", "future", "perfect")
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


@dataclass(frozen=True)
class Pattern:
    """One rendering: the roles that it can and must say, its conditions, how often it is drawn."""

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
    """Return the roles that a rendering must say; no rendering of "how" says who does it."""
    unnamed = frame.mood == "how" and frame.agent.noun.kind == PRONOUN
    held = {
        "S": frame.mood != "who" and not unnamed,
        "O": frame.patient is not None and frame.mood != "what",
        "R": frame.receiver is not None, "W": frame.tool is not None,
        "M": frame.manner is not None, "P": bool(frame.place), "T": frame.time is not None,
    }  # fmt: skip
    return frozenset(role for role, there in held.items() if there)


def _traits(frame: Frame) -> frozenset[str]:
    """Return the conditions that hold for a frame."""
    agent, patient = frame.agent, frame.patient
    manner = frame.manner.word if frame.manner else ""
    passive = frame.verb.passive and not frame.attitude and len(frame.word.split()) < 3
    traits = {
        frame.mood: True, "pos": not frame.negated, "neg": frame.negated,
        "plain": not frame.attitude and not frame.verb.state,
        "human": agent.noun.human, "person": agent.noun.human, "agentive": agent.noun.animate,
        "thing": patient is not None and not patient.noun.animate,
        "named": agent.noun.kind != PRONOUN, "unnamed": agent.noun.kind == PRONOUN,
        "newS": not agent.definite,
        "oldO": patient is not None and patient.definite,
        "several": agent.count == 0 and not agent.definite and agent.noun.human,
        "newO": patient is not None and not patient.definite,
        "ly": manner.endswith("ly") and manner not in ("badly", "slightly", "barely", "closely"),
        "event": bool(frame.verb.event) and frame.word in (frame.verb.word, *frame.verb.synonyms),
        "dative": frame.word in DATIVE, "inside": manner not in END_ONLY,
        "early": frame.time is not None and frame.time.word not in END_ONLY,
        "passive": passive and patient is not None and frame.word not in NO_PASSIVE,
        "caption": frame.mood == "statement" and frame.tense == "now", frame.tense: True,
    }  # fmt: skip
    return frozenset(name for name, holds in traits.items() if holds)


def renderings(frame: Frame) -> list[Pattern]:
    """Return the patterns that say a frame without loss."""
    return list(_fitting(filled(frame), _traits(frame), bool(frame.attitude)))


def draw_pattern(random: Random, options: list[Pattern]) -> Pattern:
    """Return one of the patterns, by their shares: plain sentences are common in real text."""
    point = random.random() * sum(pattern.share for pattern in options)
    for pattern in options:
        point -= pattern.share
        if point < 0:
            return pattern
    return options[-1]


@cache
def _fitting(roles: frozenset[str], traits: frozenset[str], attitude: bool) -> tuple[Pattern, ...]:
    return tuple(pattern for pattern in patterns() if _fits(pattern, roles, traits, attitude))


def _fits(pattern: Pattern, roles: frozenset[str], traits: frozenset[str], att: bool) -> bool:
    if not (pattern.needs <= roles <= pattern.covers):
        return False
    conditions = pattern.conditions
    # "Someone did not open it" leaves open whether others did; "it was not opened" does not.
    denied = {"neg", "passive"} <= traits and "named" not in traits
    if denied and "passive" not in conditions:
        return False
    mood = next((mood for mood in MOODS if mood in conditions), "statement")
    if mood not in traits and not ("headline" in traits and pattern.name in PLAIN_IN_HEADLINES):
        return False
    tenses = conditions & {*TENSES}
    if tenses and not tenses & traits:
        return False
    if pattern.text.startswith("{!T}") and "early" not in traits:
        return False
    if "{Vm}" in pattern.text or "{Bm}" in pattern.text:
        if "inside" not in traits or att:
            return False
    return conditions - {*TENSES, *MOODS} <= traits
