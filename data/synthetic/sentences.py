"""Makes plain sentences of every kind, for contrastive tuning without labels.

They come in scenes: a dozen sentences about one event, each with one or two changed parts, in the
same words. Such sentences cannot be distinguished by topic alone, and no two of them have the same
meaning: they are each other's negatives.
Reads: graded, pairs, sampling, sentiment. Feeds: generate.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from data.synthetic.edits import reword
from data.synthetic.frames import Frame, chance, choose, replace
from data.synthetic.graded import LARGE, SMALL, apply_one
from data.synthetic.grammar import say
from data.synthetic.pairs import Example, deny_well, pick, say_two, two_clauses
from data.synthetic.sampling import QUESTIONS, STATEMENTS, draw_frame, how_to, kept
from data.synthetic.sentiment import opinion

SCENE = 12  # sentences about one event
OPINIONS, TWO_CLAUSES = 0.12, 0.08  # shares of sentences that belong to no scene
MOODS = ("statement", "statement", "question")


@dataclass
class Scenes:
    """Draws sentences, one at each call: `SCENE` of them about one event, then about the next."""

    frame: Frame | None = None
    left: int = 0
    said: set[Frame] = field(default_factory=set)  # statements about this event so far

    def __call__(self, random: Random, split: str) -> Example:
        """Return the next sentence."""
        if chance(random, OPINIONS):
            return Example((opinion(random, split).text,))
        if chance(random, TWO_CLAUSES):
            return _two_at_once(random, split)
        if self.frame is None or self.left == 0:
            self.frame, self.left = reword(draw_frame(random, split), random, 0.5), SCENE
            self.said.clear()
        self.left -= 1
        return sentence(random, split, self.frame, self.said)


def sentence(
    random: Random, split: str, scene: Frame | None = None, said: set[Frame] | None = None
) -> Example:
    """Return an unlabelled sentence about a scene, by default any.

    Args:
        split: the part whose words may be used.
        scene: the event.
        said: the statements about it so far; the new sentence is added.
    """
    while True:
        frame = _changed(scene or draw_frame(random, split), random, split)
        pattern = pick(random, frame)
        statement = replace(frame, mood="statement")
        if pattern is None or (split == "train" and kept(frame)):
            continue
        if said is not None:
            if statement in said and chance(random, 0.95):
                continue  # but a scene with few parts may have no further sentences
            said.add(statement)
        return Example((say(frame, pattern),))


def _changed(scene: Frame, random: Random, split: str) -> Frame:
    """Return a scene with a part or two of it changed, as a statement, a headline, a question."""
    frame = scene
    for table in (LARGE, SMALL)[: 1 + chance(random, 0.5)]:
        frame = apply_one(frame, random, split, table)[1] or frame
    frame = _asked(frame, random)
    deny = frame.mood == "statement" and frame.tense != "habit" and deny_well(frame)
    return replace(frame, negated=True, manner=None) if deny and chance(random, 0.1) else frame


def _asked(frame: Frame, random: Random) -> Frame:
    """Return a statement in another mood, if possible; a question omits the questioned part."""
    mood = choose(random, MOODS)
    mood = choose(random, QUESTIONS if mood == "question" else STATEMENTS)
    patient = frame.patient
    if mood == "how":
        return how_to(random, frame) or replace(frame, mood="polar")
    if mood == "what" and (patient is None or patient.noun.animate):
        mood = "polar"
    if mood == "headline":
        return replace(frame, mood=mood, tense="past", time=None, manner=None)
    gone: dict[str, dict[str, Any]] = {"where": {"place": ""}, "when": {"time": None}}
    return replace(frame, mood=mood, **gone.get(mood, {}))


def _two_at_once(random: Random, split: str) -> Example:
    while True:
        drawn = two_clauses(random, split)
        if drawn:
            return Example((say_two(random, *drawn),))
