"""Makes labelled pairs of premise and hypothesis, for learning entailment.

As in MNLI, overlap nearly determines the label: an entailed hypothesis mostly repeats parts of its
premise, others add something. The label never depends on word order, so a model cannot learn order
from these pairs, and heuristics.py tests it.
Reads: changes, edits, pairs, sampling. Feeds: suites.
"""

from collections.abc import Callable
from random import Random

from data.synthetic import edits
from data.synthetic.changes import EDITS
from data.synthetic.edits import reword
from data.synthetic.frames import Frame, chance, choose
from data.synthetic.pairs import Example, Pair, deniable, same_rendering, two_renderings
from data.synthetic.sampling import draw_frame, kept

LABELS = ("entailment", "neutral", "contradiction")

# From a frame to (meaning of the premise, meaning of the hypothesis), or None if it does not fit.
Step = Callable[[Frame, Random, str], tuple[Frame, Frame] | None]


def _less(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
    other = edits.drop_detail(frame, random, split)
    return (frame, other) if other else None


def _more(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
    pair = _less(frame, random, split)
    return (pair[1], pair[0]) if pair else None


def _general(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
    other = edits.generalise(frame, random, split)
    return (frame, other) if other else None


def _special(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
    pair = _general(frame, random, split)
    return (pair[1], pair[0]) if pair else None


def _same(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
    return frame, frame


def _synonym(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
    other = reword(frame, random, 0.6)
    return (frame, other) if other != frame else None


def _related(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
    return frame, draw_frame(random, split, frame.domain)


def _opposite(kind: str) -> Step:
    def step(frame: Frame, random: Random, split: str) -> tuple[Frame, Frame] | None:
        if kind == "negation" and not deniable(frame):
            return None
        other = EDITS[kind](frame, random, split)
        if other is None:
            return None
        # Sometimes the premise is the denial; then the hypothesis has no additional word.
        return (other, frame) if kind == "negation" and chance(random, 0.2) else (frame, other)

    return step


STEPS: dict[str, dict[str, Step]] = {
    "entailment": {
        "modifier": _less, "modifier 2": _less, "modifier 3": _less, "hypernym": _general,
        "paraphrase": _same, "synonym": _synonym,
    },
    "neutral": {
        "added detail": _more, "added detail 2": _more, "hyponym": _special,
        "same topic": _related,
    },
    "contradiction": {
        "negation": _opposite("negation"), "negation 2": _opposite("negation"),
        **{
            kind: _opposite(kind)
            for kind in ("antonym verb", "antonym adjective", "antonym manner", "number", "place")
        },
    },
}  # fmt: skip


def inferred_pair(random: Random, split: str, wanted: str) -> Example:
    """Return a premise and a hypothesis of this label, tagged with how they differ."""
    kind = choose(random, tuple(STEPS[wanted]))
    while True:
        pair = _pair(random, split, kind, STEPS[wanted][kind])
        if pair and pair.texts[0] != pair.texts[1]:
            return Example(pair.texts, wanted, pair.phenomenon)


def _pair(random: Random, split: str, kind: str, step: Step) -> Pair | None:
    frames = step(draw_frame(random, split, adjectives=0.4), random, split)
    if frames is None or (split == "train" and any(map(kept, frames))):
        return None
    render = same_rendering if chance(random, 0.75) else two_renderings
    return render(random, *frames, kind.rstrip(" 23"))
