"""The similarity task: pairs of all distances, as many of each fifth of the scale.

The first frame is drawn independently of the fifth, and both sentences are worded by one process,
so neither of them alone predicts the score. Then the frame is edited until the score of the pair is
in the fifth.
Reads: graded, scores, sampling, pairs. Feeds: generate, suites.
"""

from random import Random

from data.synthetic.frames import Frame, chance, choose, replace
from data.synthetic.graded import (
    ADVERSARIAL,
    ELSEWHERE,
    LARGE,
    SMALL,
    apply_plainly,
    draw_name,
    in_shape,
    plainness,
    vary,
)
from data.synthetic.pairs import Example, deniable, same_rendering, two_renderings
from data.synthetic.sampling import QUESTIONS, STATEMENTS, draw_frame, kept
from data.synthetic.scores import noisy, similarity

BANDS = 5
# Shares of the task's pairs; the suites take a third of each.
GENRES = {"statements": 0.7, "headlines": 0.13, "questions": 0.17}
ADVERSARIAL_SHARE = 0.25  # of the pairs in the upper three fifths
SAME_RENDERING = 0.85
MOST_SMALL = 4  # small edits
DENIED = 0.1
ELSEWHERE_SHARES = (0.7, 0.3, 0.0, 0.0, 0.0)  # share of another scene or topic, by fifth
# The smallest and largest number of large edits, by fifth: about as many as are needed.
LARGE_EDITS = ((3, 5), (2, 4), (1, 3), (0, 2), (0, 0))
SAME_ROLES = 0.8  # as many participants in another scene
DRAWS = 8  # the plainest frame is used
TRIES = 60


def band_of(score: float) -> int:
    """Return the fifth of the scale in which a score lies."""
    return min(int(score), BANDS - 1)


def scored_pair(random: Random, split: str, band: int | None = None) -> Example:
    """Return a row of the similarity task; `band` is its fifth of the scale, by default any."""
    return scored_genre(random, split, draw_name(random, GENRES), band)


def scored_genre(random: Random, split: str, genre: str, band: int | None = None) -> Example:
    """Return a row of a genre: statements, headlines or questions."""
    wanted = int(random.random() * BANDS) if band is None else band
    while True:
        example = _pair(random, split, _first(random, split, genre), wanted)
        if example:
            return example


def _first(random: Random, split: str, genre: str) -> Frame:
    """Return the first frame of a pair: the one with the plainest words among several draws."""
    return min((_drawn(random, split, genre) for _ in range(DRAWS)), key=plainness)


def _drawn(random: Random, split: str, genre: str) -> Frame:
    moods = {"statements": STATEMENTS, "headlines": ("headline",), "questions": QUESTIONS}[genre]
    frame = draw_frame(random, split, mood=choose(random, moods))
    # As often as the edits make a denial, so a "not" has no information.
    deny = deniable(frame) and chance(random, DENIED)
    return replace(frame, negated=True, manner=None) if deny else frame


def _pair(random: Random, split: str, frame: Frame, band: int) -> Example | None:
    """Return a pair in a fifth of the scale that begins with this frame, or None."""
    first = vary(frame, random, split)
    adversarial = band >= BANDS - 3 and chance(random, ADVERSARIAL_SHARE)
    for _ in range(TRIES):
        name, other = _edited(frame, random, split, band, adversarial)
        if other is None or (split == "train" and kept(other)):
            continue
        second = vary(other, random, split)
        score = similarity(first, second)
        if band_of(score) != band:
            continue
        alike = chance(random, SAME_RENDERING)
        pair = (same_rendering if alike else two_renderings)(random, first, second, name)
        if pair and pair.texts[0] != pair.texts[1]:
            texts = pair.texts if chance(random, 0.5) else pair.texts[::-1]
            return Example((texts[0], texts[1]), str(noisy(score, random)), name)
    return None


def _edited(
    frame: Frame, random: Random, split: str, band: int, adversarial: bool
) -> tuple[str, Frame | None]:
    """Return the frame after some edits, and the kind of the difference."""
    small, large = int(random.random() * (1 + MOST_SMALL)), 0
    elsewhere = chance(random, ELSEWHERE_SHARES[band])
    if not elsewhere:
        least, most = LARGE_EDITS[band]
        large = max(least + int(random.random() * (most - least + 1)) - adversarial, 0)
    kinds: list[str] = []
    other: Frame | None = frame
    tables = [ELSEWHERE] * elsewhere + [ADVERSARIAL] * adversarial + [LARGE] * large
    for table in tables + [SMALL] * small:
        assert other
        draws = DRAWS if table is ELSEWHERE else DRAWS // 2 if table is LARGE else 1
        kind, other = apply_plainly(other, random, split, table, draws)
        if other is None:
            break
        if table is ELSEWHERE:
            if other.phrases().keys() != frame.phrases().keys() and chance(random, SAME_ROLES):
                return kind, None
            other = in_shape(frame, other, random)
        kinds.append(kind)
    return _name(kinds), other


def _name(kinds: list[str]) -> str:
    """Return the name of the difference with the largest weight."""
    if kinds and (kinds[0] in ADVERSARIAL or kinds[0] in ELSEWHERE):
        return kinds[0]
    if sum(kind in LARGE for kind in kinds) > 1:
        return "several parts"
    return kinds[0] if kinds else "same meaning"
