"""Makes plain sentences of every kind, for contrastive tuning without labels.

Reads: pairs, sampling, sentiment. Feeds: generate.
"""

from dataclasses import replace
from random import Random

from data.bundled.frames import chance, choose
from data.bundled.grammar import say
from data.bundled.pairs import Example, pick, say_two, two_clauses
from data.bundled.sampling import QUESTIONS, STATEMENTS, draw_frame
from data.bundled.sentiment import opinion


def sentence(random: Random, split: str) -> Example:
    """Return an unlabelled sentence, tagged with its rendering."""
    kind = random.random()
    if kind < 0.12:
        view = opinion(random, split)
        return Example((view.text,), "", f"opinion, {view.phenomenon}")
    if kind < 0.22:
        return _two_at_once(random, split)
    mood = choose(random, QUESTIONS if kind < 0.36 else STATEMENTS)
    frame = draw_frame(random, split, mood=mood)
    if mood == "statement" and chance(random, 0.1) and frame.tense != "habit":
        frame = replace(frame, negated=True, manner=None)
    pattern = pick(random, frame)
    if pattern is None:
        return sentence(random, split)
    return Example((say(frame, pattern),), "", pattern.name)


def _two_at_once(random: Random, split: str) -> Example:
    while True:
        drawn = two_clauses(random, split)
        if drawn:
            return Example((say_two(random, *drawn),), "", "two clauses")
