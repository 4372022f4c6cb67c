"""Two meanings that differ in one part, from which a pair of the paraphrase task is drawn.

Reads: changes, edits, pairs, parts, sampling. Feeds: wordings, duplicates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from data.synthetic import edits
from data.synthetic.changes import (
    EDITS,
    other_noun,
    said_of,
    said_twice,
    shows,
    with_place,
    with_synonyms,
)
from data.synthetic.edits import Edit, with_role
from data.synthetic.frames import Frame, Phrase, chance, choose, replace, shuffled
from data.synthetic.pairs import (
    ATTITUDES,
    OPPOSITE_ACTS,
    attitude_frame,
    deniable,
    deny_well,
    question_frame,
    statement_frame,
    two_clauses,
)
from data.synthetic.parts import told_by_synonyms
from data.synthetic.sampling import QUESTIONS, draw_frame
from data.synthetic.words import Verb

QUESTIONS_ASKED = 0.25  # of the frames of most edits
# A word without a synonym that occurs in only one text is a sign of a difference. This is the share
# of edits with such a word that are kept.
LONE = 0.6
SEVERAL = ("far agent", "far patient", "other verb", "place")
PLACED = 0.5  # share of exchanges without a place that get one, which can be first or last
UNWORDED = ("negation", "number")  # these have no synonyms

Meaning = tuple[Frame, ...]  # the meaning of a sentence: one act, or two simultaneous acts


@dataclass(frozen=True)
class Twins:
    """Two meanings; if both have the same words, `exchange` turns each into the other."""

    meanings: tuple[Meaning, Meaning]
    exchange: Callable[[Meaning], Meaning] | None = None


Draw = Callable[[Random, str], Twins | None]


def _one(frame: Frame, other: Frame | None) -> Twins | None:
    return None if other is None else Twins(((frame,), (other,)))


def _swaps(frame: Frame, swap: Callable[[Frame], Frame | None]) -> Twins | None:
    other = swap(frame)
    if other is None:
        return None

    def exchange(meaning: Meaning) -> Meaning:
        swapped = swap(meaning[0])
        assert swapped is not None, "another word for a noun does not change what it can do"
        return (swapped,)

    return Twins(((frame,), (other,)), exchange)


def swapped(random: Random, split: str, kind: str, swap: Edit) -> Twins | None:
    """Return an act and the same with two of its parts exchanged."""
    if kind == "role swap" and chance(random, 0.15):
        frame = draw_frame(random, split, "", choose(random, ("polar", "why", "when")), True, 0.3)
    else:
        frame = statement_frame(random, split, kind)
        if not frame.place and frame.mood == "statement" and chance(random, PLACED):
            frame = with_place(frame, random, split)
    return _swaps(frame, lambda said: swap(said, random, split))


def true_both_ways(random: Random, split: str) -> Twins | None:
    """Return two acts of a symmetric verb, with other agents or with swapped adjectives."""
    adjectives = 0.9 if chance(random, 0.6) else 0.3
    frame = draw_frame(random, split, adjectives=adjectives, fits=lambda verb: verb.symmetric)
    frame = replace(frame, manner=None)
    patient = frame.patient
    if patient is None or not patient.noun.human or patient.plural != frame.agent.plural:
        return None
    if adjectives > 0.5:
        return _swaps(frame, lambda said: edits.swap_adjectives(said, random, split))
    return _one(frame, other_noun("agent")(frame, random, split))


def exchanged(random: Random, split: str) -> Twins | None:
    """Return two acts at once, and the same with their agents exchanged."""
    drawn = two_clauses(random, split)
    if drawn is None:
        return None
    first, second = drawn
    second = replace(second, agent=replace(second.agent, count=first.agent.count))
    if first.agent.noun not in second.verb.agents or second.agent.noun not in first.verb.agents:
        return None
    if said_of(first.verb) & said_of(second.verb):
        return None  # "the boy fainted as the man passed out" is true of both orders
    if any(f.patient and f.patient.noun in (first.agent.noun, second.agent.noun) for f in drawn):
        return None
    acts = first, second
    return Twins((acts, _exchange(acts)), _exchange)


def _exchange(meaning: Meaning) -> Meaning:
    first, second = meaning
    return replace(first, agent=second.agent), replace(second, agent=first.agent)


def in_one_clause(random: Random, split: str) -> Twins | None:
    """Return two acts at once, and the same with one of them edited."""
    drawn = two_clauses(random, split)
    if drawn is None:
        return None
    kind = choose(random, ("other verb", "antonym verb", "other patient", "other agent"))
    pair = _edited(random, split, kind, drawn[0])
    if pair is None:
        return None
    taken = {phrase.noun for phrase in drawn[1].phrases().values()}
    if any(phrase.noun in taken for frame in pair for phrase in frame.phrases().values()):
        return None
    return Twins(((pair[0], drawn[1]), (pair[1], drawn[1])))


def edited(random: Random, split: str, kind: str) -> Twins | None:
    """Return an act and an edit of it that changes its words."""
    frame = _frame_for(random, split, kind)
    pair = _edited(random, split, kind, frame) if frame else None
    return Twins(((pair[0],), (pair[1],))) if pair else None


def _frame_for(random: Random, split: str, kind: str) -> Frame | None:
    if kind == "negation":
        frame = _definite(replace(statement_frame(random, split), manner=None))
        return frame if deniable(frame) else None
    if chance(random, QUESTIONS_ASKED):
        return question_frame(random, split)
    adjectives = 0.8 if kind == "antonym adjective" else 0.35
    mood = "headline" if chance(random, 0.08) else "statement"
    return draw_frame(random, split, "", mood, adjectives=adjectives, fits=FITS.get(kind))


# The verbs that an edit fits.
FITS: dict[str, Callable[[Verb], bool]] = {
    "antonym verb": lambda verb: bool(verb.antonym),
    "other verb": said_twice,
    "antonym manner": lambda verb: bool(verb.manners),
}


def _edited(random: Random, split: str, kind: str, frame: Frame) -> tuple[Frame, Frame] | None:
    role = kind.removeprefix("other ")
    if role in ("agent", "patient"):
        frame = with_synonyms(frame, role, random, split)
    elif kind == "place" and frame.mood != "where":
        frame = with_place(frame, random, split)
    elif kind in ("antonym verb", "other verb"):
        if frame.receiver:
            return None
        frame = replace(frame, manner=None, tool=None)
    other = EDITS[kind](frame, random, split)
    if other is None or not shows(frame, other):
        return None
    told = kind in UNWORDED or _kept(random, frame, other)
    return (frame, other) if told else None


def _kept(random: Random, frame: Frame, other: Frame) -> bool:
    """Return whether to keep an edit: always, unless it adds a word without a synonym."""
    return told_by_synonyms(frame, other) or chance(random, LONE)


def several(random: Random, split: str) -> Twins | None:
    """Return an act and the same with two or three of its parts edited."""
    mood = choose(random, QUESTIONS) if chance(random, QUESTIONS_ASKED) else "statement"
    kinds = shuffled(random, SEVERAL)[:3]
    fits = said_twice if "other verb" in kinds else None
    frame = draw_frame(random, split, "", mood, adjectives=0.1, fits=fits)
    frame = with_place(frame, random, split)
    for role in ("agent", "patient"):
        if f"far {role}" in kinds and role in frame.phrases():
            frame = with_synonyms(frame, role, random, split)
    other, done = frame, 0
    for kind in kinds:
        edited = EDITS[kind](other, random, split)
        if edited:
            other, done = edited, done + 1
    frame = _even(frame, other)
    if done < 2 or frame.receiver or not shows(frame, other):
        return None
    return _one(frame, other) if _kept(random, frame, other) else None


def _even(frame: Frame, other: Frame) -> Frame:
    """Return the frame without details that the other lacks, since such a detail is a sign."""
    for name in ("manner", "tool"):
        if not getattr(other, name):
            frame = replace(frame, **{name: None})
    for role, phrase in other.phrases().items():
        ours = frame.phrases().get(role)
        if ours and ours.adjective and not phrase.adjective:
            frame = with_role(frame, role, replace(ours, adjective=None))
    return frame


def _definite(frame: Frame) -> Frame:
    """Return the frame with known participants, so that every form has the same denial."""
    phrases: dict[str, Phrase] = {
        name: replace(phrase, definite=True)
        for name, phrase in frame.phrases().items()
        if phrase.noun.kind != "body_part"
    }
    return replace(frame, **phrases)


def done_or_not(random: Random, split: str) -> Twins | None:
    """Return an act and another outcome: managed to and failed to, tried to, refused to."""
    frame = attitude_frame(random, split)
    if frame is None:
        return None
    frame = _definite(frame)
    outcome = ATTITUDES[frame.attitude]
    attitude = choose(random, [name for name, end in ATTITUDES.items() if end != outcome])
    if frame.attitude in OPPOSITE_ACTS and deny_well(frame) and chance(random, 0.7):
        attitude = OPPOSITE_ACTS[frame.attitude]
    return _one(frame, replace(frame, attitude=attitude))


def other_question(random: Random, split: str) -> Twins | None:
    """Return two questions about the same act, such as why and where."""
    moods = ("polar", "why", "where", "when")
    first, second = choose(random, moods), choose(random, moods)
    if first == second:
        return None
    frame = draw_frame(random, split, "", first, adjectives=0.3)
    if (second == "where" and frame.place) or (second == "when" and frame.time):
        return None
    other = replace(frame, mood=second)
    return None if frame.tense == "habit" and not frame.time else _one(frame, other)


def same_topic(random: Random, split: str) -> Twins | None:
    """Return two acts of one domain."""
    first = statement_frame(random, split)
    second = draw_frame(random, split, first.domain, first.mood)
    return None if said_of(first.verb) & said_of(second.verb) else _one(first, second)


def unrelated(random: Random, split: str) -> Twins | None:
    """Return acts of different domains."""
    first = statement_frame(random, split)
    second = draw_frame(random, split, "", first.mood)
    near = first.domain == second.domain or said_of(first.verb) & said_of(second.verb)
    return None if near else _one(first, second)
