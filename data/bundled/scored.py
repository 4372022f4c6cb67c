"""The similarity task: scored pairs, from the same meaning to nothing in common.

Reads: alike, differing, scores. Feeds: generate, suites.
"""

from random import Random

from data.bundled import alike, differing, edits
from data.bundled.differing import EDITS, edited
from data.bundled.duplicates import make
from data.bundled.edits import reword
from data.bundled.frames import Frame, chance, choose
from data.bundled.pairs import (
    Example,
    Maker,
    Pair,
    question_frame,
    same_rendering,
    two_renderings,
)
from data.bundled.sampling import draw_frame
from data.bundled.scores import noisy, similarity


def detail(random: Random, split: str) -> Pair | None:
    """Return a pair whose second sentence lacks an unimportant detail."""
    frame = draw_frame(random, split)
    other = edits.drop_detail(frame, random, split)
    return _either(random, frame, other, "modifier") if other else None


def hypernym(random: Random, split: str) -> Pair | None:
    """Return a pair whose second sentence has a more general word."""
    frame = draw_frame(random, split)
    other = edits.generalise(frame, random, split)
    return _either(random, frame, other, "hypernym") if other else None


def _either(random: Random, frame: Frame, other: Frame, kind: str) -> Pair | None:
    """Return two frames in one rendering, or in two with synonyms."""
    if chance(random, 0.5):
        return same_rendering(random, frame, other, kind)
    return two_renderings(random, frame, reword(other, random, share=0.5), kind)


def two_differences(random: Random, split: str) -> Pair | None:
    """Return a pair with two differences."""
    frame = draw_frame(random, split)
    names = ("place", "other agent", "other patient", "other verb", "antonym adjective", "number")
    kinds = choose(random, names), choose(random, names)
    if kinds[0] == kinds[1]:
        return None
    once = EDITS[kinds[0]](frame, random, split)
    twice = EDITS[kinds[1]](once, random, split) if once else None
    return _either(random, frame, twice, "two differences") if twice else None


SCORED: list[tuple[Maker, float]] = [
    (alike.synonyms, 0.08), (alike.voices, 0.07), (alike.paraphrase, 0.11), (alike.reordered, 0.04),
    (alike.symmetric, 0.02), (detail, 0.09), (hypernym, 0.08), (edited("number"), 0.05),
    (edited("place", 0.4), 0.05), (edited("time", 0.4), 0.02),
    (edited("antonym adjective", 0.4), 0.04), (edited("antonym manner", 0.4), 0.02),
    (edited("role swap"), 0.05), (differing.swapped_passive, 0.05),
    (edited("negation"), 0.05), (edited("antonym verb"), 0.03),
    (edited("other agent", 0.4), 0.03), (edited("other patient", 0.4), 0.03),
    (edited("other verb", 0.4), 0.02), (two_differences, 0.09), (differing.same_topic, 0.1),
    (differing.unrelated, 0.08),
]  # fmt: skip


# By mood; the rest are questions.
GENRES = {"headline": "headlines"} | dict.fromkeys(
    ("statement", "reported", "official", "hearsay"), "statements"
)
FAR_QUESTIONS = 0.02  # of the draws, most of which are no questions


def scored_pair(random: Random, split: str) -> Example:
    """Return a row of the similarity task."""
    return _row(random, make(random, split, SCORED))


def scored_genre(random: Random, split: str, genre: str) -> Example:
    """Return a row whose first sentence is of a genre: statements, headlines or questions."""
    while True:
        # Few questions differ altogether among the pairs of the task.
        far = genre == "questions" and chance(random, FAR_QUESTIONS)
        pair = _far_questions(random, split) if far else make(random, split, SCORED)
        if pair and GENRES.get(pair.frames[0].mood, "questions") == genre:
            return _row(random, pair)


def _far_questions(random: Random, split: str) -> Pair | None:
    """Return two questions, half of the time on one topic."""
    first = question_frame(random, split)
    # Of the same mood: some domains have no frame for every question, as nobody makes the weather.
    domain = first.domain if chance(random, 0.5) else ""
    second = draw_frame(random, split, domain, first.mood)
    return two_renderings(random, first, second, "other question")


def _row(random: Random, pair: Pair) -> Example:
    score = noisy(similarity(*pair.frames), random)
    texts = pair.texts if chance(random, 0.5) else (pair.texts[1], pair.texts[0])
    return Example(texts, str(score), pair.phenomenon)
