"""Makes NLI triplets: a premise, a sentence that it entails, and one that contradicts it.

Reads: pairs, edits, differing. Feeds: generate.
"""

from collections.abc import Callable
from random import Random

from data.bundled import edits
from data.bundled.differing import EDITS
from data.bundled.edits import reword
from data.bundled.frames import Frame, chance, choose
from data.bundled.grammar import say
from data.bundled.pairs import Example, deniable, pick
from data.bundled.renderings import renderings
from data.bundled.sampling import draw_frame, kept


def _dropped(frame: Frame, random: Random) -> Frame | None:
    first = edits.drop_detail(frame, random, "train")
    second = edits.drop_detail(first, random, "train") if first and chance(random, 0.5) else None
    return second or first


def _changed(frame: Frame, other: Frame) -> Frame | None:
    return None if other == frame else other


ENTAILED: dict[str, Callable[[Frame, Random], Frame | None]] = {
    "hypernym": lambda frame, random: edits.generalise(frame, random, "train"),
    "modifier": _dropped,
    "synonym": lambda frame, random: _changed(frame, reword(frame, random, 0.9)),
    "paraphrase": lambda frame, random: frame,
}


CONTRADICTED = (
    ("role swap",) * 6 + ("negation",) * 4 + ("antonym verb",) * 3 + ("antonym adjective",) * 3
    + ("antonym manner", "antonym manner", "number", "number", "place", "place", "time")
    + ("adjective swap", "other verb", "other agent", "other patient")
)  # fmt: skip


def triplet(random: Random, split: str) -> Example:
    """Return the three sentences of a triplet, tagged with how the last two were made."""
    contradiction = choose(random, CONTRADICTED)
    entailment = choose(random, tuple(ENTAILED))
    while True:
        swap = contradiction in ("role swap", "adjective swap")
        frame = draw_frame(random, split, swappable=swap, adjectives=0.9 if contradiction ==
                           "adjective swap" else 0.4)  # fmt: skip
        texts = _triplet(random, split, frame, entailment, contradiction)
        if texts and len(set(texts)) == 3:
            return Example(texts, "", f"{entailment} / {contradiction}")


def _triplet(
    random: Random, split: str, frame: Frame, entailment: str, contradiction: str
) -> tuple[str, ...] | None:
    if contradiction == "negation" and not deniable(frame):
        return None
    positive = ENTAILED[entailment](frame, random)
    negative = EDITS[contradiction](frame, random, split)
    premise = pick(random, frame)
    if positive is None or negative is None or premise is None or kept(negative):
        return None
    same = chance(random, 0.5) and premise in renderings(negative)
    first = pick(random, positive, premise.name)
    second = premise if same else pick(random, negative, premise.name)
    if first is None or second is None:
        return None
    return say(frame, premise), say(positive, first), say(negative, second)
