"""Pairs that say the same, in other words, another order or another voice.

Reads: pairs, edits. Feeds: duplicates, scored.
"""

from dataclasses import replace
from random import Random

from data.bundled.edits import reword
from data.bundled.frames import chance
from data.bundled.grammar import say
from data.bundled.pairs import (
    Pair,
    pick,
    question_frame,
    same_rendering,
    statement_frame,
    two_renderings,
    two_voices,
)
from data.bundled.renderings import draw_pattern, renderings
from data.bundled.sampling import draw_frame


def synonyms(random: Random, split: str) -> Pair | None:
    """Return a pair in one pattern, with synonyms in the second sentence."""
    frame = (
        question_frame(random, split) if chance(random, 0.25) else statement_frame(random, split)
    )
    other = reword(frame, random, 0.9)
    return None if other == frame else same_rendering(random, frame, other, "synonym")


def reordered(random: Random, split: str) -> Pair | None:
    """Return one frame in two patterns of the same voice."""
    frame = statement_frame(random, split)
    pattern = pick(random, frame)
    if pattern is None:
        return None
    voice = "passive" in pattern.conditions
    options = [
        p for p in renderings(frame) if p != pattern and ("passive" in p.conditions) == voice
    ]
    if not options:
        return None
    other = draw_pattern(random, options)
    kind = "cleft" if "cleft" in other.name + pattern.name else "word order"
    return Pair((say(frame, pattern), say(frame, other)), (frame, frame), kind)


def voices(random: Random, split: str) -> Pair | None:
    """Return one frame in the active and the passive, more often than not with swappable roles."""
    frame = statement_frame(random, split, "role swap" if chance(random, 0.6) else "")
    return two_voices(random, frame, frame, "passive")


def paraphrase(random: Random, split: str) -> Pair | None:
    """Return one frame in two patterns, with synonyms in the second sentence."""
    frame = statement_frame(random, split)
    return two_renderings(random, frame, reword(frame, random, 0.9), "paraphrase")


def symmetric(random: Random, split: str) -> Pair | None:
    """Return a role swap that changes nothing, since the verb is true both ways."""
    frame = draw_frame(random, split, adjectives=0.3)
    patient = frame.patient
    if not frame.verb.symmetric or patient is None or patient.plural != frame.agent.plural:
        return None
    other = replace(frame, agent=patient, patient=frame.agent, manner=None)
    frame = replace(frame, manner=None)
    return same_rendering(random, frame, other, "symmetric verb")
