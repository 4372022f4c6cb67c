"""Pairs that differ in meaning, most of them with nearly the same words.

Reads: pairs, edits. Feeds: duplicates, scored, triplets.
"""

from dataclasses import replace
from random import Random

from data.bundled import edits
from data.bundled.edits import Edit, reword
from data.bundled.frames import chance, choose
from data.bundled.pairs import (
    ATTITUDES,
    OPPOSITE_ACTS,
    Maker,
    Pair,
    attitude_frame,
    deniable,
    deny_well,
    question_frame,
    same_rendering,
    say_two,
    statement_frame,
    two_clauses,
    two_renderings,
    two_voices,
)
from data.bundled.sampling import draw_frame

# Edits that change the meaning and leave nearly all words as they are.
EDITS: dict[str, Edit] = {
    "role swap": edits.swap_roles,
    "adjective swap": edits.swap_adjectives,
    "negation": edits.negate,
    "number": edits.other_number,
    "place": edits.other_place,
    "time": edits.other_time,
    "antonym adjective": edits.opposite_adjective,
    "antonym manner": edits.opposite_manner,
    "antonym verb": edits.opposite_verb,
    "other agent": edits.other_noun("agent"),
    "other patient": edits.other_noun("patient"),
    "other verb": edits.other_verb,
}


def edited(kind: str, share_same: float = 0.7) -> Maker:
    """Return the maker of pairs whose second frame is an edit of the first."""
    edit = EDITS[kind]

    def make(random: Random, split: str) -> Pair | None:
        ask = kind != "negation" and kind != "role swap" and chance(random, 0.2)
        frame = question_frame(random, split) if ask else statement_frame(random, split, kind)
        if kind == "negation" and not deniable(frame):
            return None
        if kind == "negation":
            frame = replace(frame, manner=None)
        other = edit(frame, random, split)
        if other is None:
            return None
        if kind == "role swap" or chance(random, share_same):
            return same_rendering(random, frame, other, kind)
        return two_renderings(random, frame, reword(other, random, 0.5), kind)

    return make


def swapped_passive(random: Random, split: str) -> Pair | None:
    """Return an active and a passive whose nouns keep their order and swap their roles."""
    frame = statement_frame(random, split, "role swap")
    other = edits.swap_roles(frame, random, split)
    if other is None:
        return None
    return two_voices(random, frame, other, "role swap, passive")


def exchanged_agents(random: Random, split: str) -> Pair | None:
    """Return two clauses whose agents swap their acts in the second text: again the same words."""
    drawn = two_clauses(random, split)
    if drawn is None:
        return None
    first, second = drawn
    if first.agent.plural != second.agent.plural:
        return None
    if first.agent.noun not in second.verb.agents or second.agent.noun not in first.verb.agents:
        return None
    others = replace(first, agent=second.agent), replace(second, agent=first.agent)
    if any(f.patient and f.patient.noun is f.agent.noun for f in others):
        return None
    name = (choose(random, ("and", "while", "while first", "as", "semicolon")),)
    texts = say_two(random, first, second, name), say_two(random, *others, name)
    return Pair(texts, (first, others[0]), "agent exchange")


def other_question(random: Random, split: str) -> Pair | None:
    """Return two questions about the same act, such as why and where."""
    frame = question_frame(random, split)
    if frame.mood in ("who", "what"):
        return None
    mood = choose(random, ("polar", "why", "where", "when"))
    other = replace(frame, mood=mood)
    if mood == frame.mood or (mood == "where" and frame.place) or (mood == "when" and frame.time):
        return None
    if frame.tense == "habit" and other.time is None:
        return None
    return two_renderings(random, frame, other, "other question")


def not_done(random: Random, split: str) -> Pair | None:
    """Return `managed to` with `failed to`, `tried to`, `refused to` and the like."""
    frame = attitude_frame(random, split)
    if frame is None:
        return None
    outcome = ATTITUDES[frame.attitude]
    others = [name for name, other in ATTITUDES.items() if other != outcome]
    attitude = choose(random, others)
    if frame.attitude in OPPOSITE_ACTS and chance(random, 0.7):
        attitude = OPPOSITE_ACTS[frame.attitude]
        frame = replace(frame, negated=chance(random, 0.4) and deny_well(frame))
    other = replace(frame, attitude=attitude)
    return same_rendering(random, frame, other, "factuality")


def same_topic(random: Random, split: str) -> Pair | None:
    """Return two frames of one domain."""
    first = statement_frame(random, split)
    second = draw_frame(random, split, first.domain, first.mood)
    return two_renderings(random, first, second, "same topic")


def unrelated(random: Random, split: str) -> Pair | None:
    """Return two frames of different domains."""
    first = statement_frame(random, split)
    second = draw_frame(random, split, "", first.mood)
    if first.domain == second.domain:
        return None
    return two_renderings(random, first, second, "unrelated")
