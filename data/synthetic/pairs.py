"""The material of pairs: suitable frames, two renderings, two clauses.

Reads: sampling, renderings, grammar, wordlists.
Feeds: twins, wordings, scored, triplets, sentences.
"""

from dataclasses import dataclass
from random import Random

from data.synthetic.frames import Frame, choose, replace
from data.synthetic.grammar import clause, join, say
from data.synthetic.renderings import Pattern, draw_pattern, renderings
from data.synthetic.sampling import QUESTIONS, STATEMENTS, draw_frame
from data.synthetic.wordlists import groups


@dataclass(frozen=True)
class Example:
    """One row of any task: its texts; if it is labelled, its label as text and its phenomenon."""

    texts: tuple[str, ...]
    label: str = ""
    phenomenon: str = ""


@dataclass(frozen=True)
class Pair:
    """Two sentences with the frames behind them."""

    texts: tuple[str, str]
    frames: tuple[Frame, Frame]
    phenomenon: str


# Attitude: the outcome of the act.
ATTITUDES = {verb: outcome for outcome, verbs in groups("attitudes").items() for verb in verbs}


# Nobody plans to stumble.
UNWANTED = frozenset(
    (
        "stumble,sneeze,faint,cough,sweat,yawn,get lost,oversleep,lose,forget,break,burn,spill,"
        "drop,injure,miss,bump into,know,recognize,admire,trust,doubt,knock over,bore,surprise,"
        "annoy,recover,survive,underestimate,inherit,go bankrupt,stain,tear,crumple,overload,"
        "trip over,blush,doze off,contaminate,scratch,infect,despair,sigh,hesitate,get seasick,"
        "daydream,panic"
    ).split(",")
)


# To deny one is to claim the other.
OPPOSITE_ACTS = {"fail": "manage", "manage": "fail", "forget": "remember", "remember": "forget"}


def pick(random: Random, frame: Frame, avoid: str = "") -> Pattern | None:
    """Return a rendering, drawn by its share; `avoid` is excluded."""
    options = [pattern for pattern in renderings(frame) if pattern.name != avoid]
    return draw_pattern(random, options) if options else None


def statement_frame(random: Random, split: str, kind: str = "") -> Frame:
    """Return a frame that an edit of this kind is likely to fit."""
    swappable = kind in ("role swap", "role swap, passive", "adjective swap")
    adjectives = 0.95 if kind == "adjective swap" else 0.8 if "adjective" in kind else 0.35
    return draw_frame(random, split, "", choose(random, STATEMENTS), swappable, adjectives)


def question_frame(random: Random, split: str) -> Frame:
    """Return a frame that asks something."""
    return draw_frame(random, split, "", choose(random, QUESTIONS), False, 0.3)


def attitude_frame(random: Random, split: str) -> Frame | None:
    """Return a frame with an attitude (managed to, refused to), or None if none fits."""
    frame = draw_frame(random, split, adjectives=0.25)
    if frame.tense != "past" or not frame.agent.noun.human or frame.verb.state:
        return None
    if frame.verb.word in UNWANTED:
        return None
    return replace(frame, attitude=choose(random, tuple(ATTITUDES)), manner=None)


def deniable(frame: Frame) -> bool:
    """Return whether a plain `not` makes the opposite of a frame."""
    return frame.mood == "statement" and frame.tense != "habit" and deny_well(frame)


def deny_well(frame: Frame) -> bool:
    """Return whether a denial is clear, which it is not with `some` or `two`."""
    return all(p.definite or p.count == 1 for p in frame.phrases().values())


def same_rendering(random: Random, first: Frame, second: Frame, kind: str) -> Pair | None:
    """Return both frames in one rendering, so they differ only in meaning."""
    theirs = renderings(second)
    common = [pattern for pattern in renderings(first) if pattern in theirs]
    if not common:
        return None
    pattern = draw_pattern(random, common)
    return Pair((say(first, pattern), say(second, pattern)), (first, second), kind)


def two_renderings(random: Random, first: Frame, second: Frame, kind: str) -> Pair | None:
    """Return the frames in different renderings."""
    pattern = pick(random, first)
    other = pick(random, second, pattern.name) if pattern else None
    if pattern is None or other is None:
        return None
    return Pair((say(first, pattern), say(second, other)), (first, second), kind)


def two_clauses(random: Random, split: str) -> tuple[Frame, Frame] | None:
    """Return two frames of one domain and tense without a word for both of two nouns, or None."""
    first = draw_frame(random, split, adjectives=0.15)
    if first.tense == "habit":
        return None
    second = draw_frame(random, split, first.domain, adjectives=0.15)
    if first.tense != "past" and (first.verb.state or second.verb.state):
        return None
    plain = [
        replace(
            frame, place="", time=None, manner=None, tool=None, receiver=None, tense=first.tense
        )
        for frame in (first, second)
    ]
    nouns = [phrase.noun for frame in plain for phrase in frame.phrases().values()]
    names = [name for noun in nouns for name in {noun.word, *noun.synonyms}]
    return (plain[0], plain[1]) if len(set(names)) == len(names) else None


def say_two(random: Random, first: Frame, second: Frame, names: tuple[str, ...] = ()) -> str:
    """Return two frames as clauses of one sentence, joined in one of the ways `names`, or any."""
    clauses = clause(first, active_pattern(first)), clause(second, active_pattern(second))
    return join(random, *clauses, names)


def active_pattern(frame: Frame) -> Pattern:
    """Return the plain active of a frame."""
    return next(p for p in renderings(frame) if p.name == "active")
