"""Pairs that differ in meaning, most of them with nearly the same words.

Reads: pairs, edits. Feeds: duplicates, scored, triplets.
"""

from dataclasses import replace
from random import Random

from data.bundled import edits
from data.bundled.changes import EDITS, shows
from data.bundled.edits import reword
from data.bundled.frames import chance
from data.bundled.pairs import (
    Maker,
    Pair,
    deniable,
    question_frame,
    same_rendering,
    statement_frame,
    two_renderings,
    two_voices,
)
from data.bundled.sampling import draw_frame


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
        if other is None or not shows(frame, other):
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
