"""Makes triplets: a sentence, one with the same meaning or entailed by it, and one that is not.

Their effect must carry over to real sentences. So positives differ from their anchors in all
possible ways (words, voice, order, details, generality), and most hard negatives in content:
another act, another participant, another event of one scene. Few negatives differ only in a
function word or in word order: they would push apart sentences that people call similar.
Reads: graded, pairs, sampling. Feeds: generate.
"""

from random import Random

from data.synthetic import edits
from data.synthetic.edits import reword
from data.synthetic.frames import Frame, chance, choose, replace
from data.synthetic.graded import (
    ADVERSARIAL,
    LARGE,
    SYNONYMS,
    apply_one,
    general_words,
    other_scene,
)
from data.synthetic.grammar import say
from data.synthetic.pairs import Example
from data.synthetic.renderings import Pattern, draw_pattern, renderings
from data.synthetic.sampling import QUESTIONS, draw_frame, kept

MOODS = ("statement",) * 7 + ("headline", "question", "question")
ENTAILED = ("paraphrase",) * 3 + ("hypernym", "detail", "detail", "general")
CONTRADICTED = ("one part",) * 4 + ("two parts",) * 4 + ("same topic",) * 4 + ("order",)
# The share of negatives in their anchor's rendering; for positives it is 0. The invariance to voice
# and order carries over: the fewer negatives look like their anchors, the more.
SAME_RENDERING = 0.2
TRIES = 5  # for one anchor
DETAILS = ("place", "time", "manner", "tool")


def triplet(random: Random, split: str) -> Example:
    """Return the three sentences of a triplet."""
    entailment, contradiction = choose(random, ENTAILED), choose(random, CONTRADICTED)
    mood = choose(random, MOODS)
    while True:
        asked = choose(random, QUESTIONS) if mood == "question" else mood
        frame = short(draw_frame(random, split, mood=asked), random)
        for _ in range(TRIES):
            positive = _entailed(frame, random, split, entailment)
            if positive is None:
                break  # no positive of this kind for this frame
            negative = _contradicting(frame, random, split, contradiction)
            if negative is None or kept(negative):
                continue
            texts = _texts(random, frame, positive, negative)
            if texts and len({*texts}) == 3:
                return Example(texts)


def short(frame: Frame, random: Random) -> Frame:
    """Return the frame with one detail at most, and one adjective at most."""
    said = [name for name in DETAILS if getattr(frame, name)]
    kept_name = choose(random, ["", "", *said]) if frame.tense != "habit" else "time"
    gone = {name: "" if name == "place" else None for name in said if name != kept_name}
    frame = replace(frame, **gone)
    described = [role for role, phrase in frame.phrases().items() if phrase.adjective]
    for role in described[int(chance(random, 0.5)) :]:
        bare = replace(frame.phrases()[role], adjective=None)
        frame = replace(frame, **{role: bare})
    return frame


def _entailed(frame: Frame, random: Random, split: str, kind: str) -> Frame | None:
    """Return a frame that is entailed by a frame, in other words."""
    other: Frame | None = frame
    if kind in ("detail", "general"):
        other = edits.drop_detail(frame, random, split)
    if other and kind in ("hypernym", "general"):
        other = edits.generalise(other, random, split)
    if other and kind == "hypernyms":
        other = general_words(other, random, split)
    return reword(other, random, choose(random, SYNONYMS)) if other else None


def _contradicting(frame: Frame, random: Random, split: str, kind: str) -> Frame | None:
    """Return a frame that is not entailed by a frame."""
    if kind == "same topic":
        other = short(other_scene(frame, random, split), random)
        return reword(other, random, choose(random, SYNONYMS))
    name, found = apply_one(frame, random, split, ADVERSARIAL if kind == "order" else LARGE)
    if found and kind == "two parts":
        second, found = apply_one(found, random, split, LARGE)
        found = found if second != name else None
    return reword(found, random, choose(random, SYNONYMS)) if found else None


def _texts(
    random: Random, frame: Frame, positive: Frame, negative: Frame
) -> tuple[str, str, str] | None:
    """Return the three texts, the positive always in another rendering than the anchor."""
    first = _brief(random, frame)
    second = _brief(random, positive, first[1].name) if first else None
    if first is None or second is None:
        return None
    alike = first[1] in renderings(negative) and chance(random, SAME_RENDERING)
    third = (say(negative, first[1]),) if alike else _brief(random, negative, first[1].name)
    return (first[0], second[0], third[0]) if third else None


def _brief(random: Random, frame: Frame, avoid: str = "") -> tuple[str, Pattern] | None:
    """Return the shortest of three renderings: short sentences are quick to learn from."""
    options = [pattern for pattern in renderings(frame) if pattern.name != avoid]
    if not options:
        return None
    drawn = dict.fromkeys(draw_pattern(random, options) for _ in range(3))
    return min(((say(frame, pattern), pattern) for pattern in drawn), key=lambda said: len(said[0]))
