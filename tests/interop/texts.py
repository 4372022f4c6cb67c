"""The pairs that other libraries score in tests."""

import random

from conftest import toy_sentences

from data.examples import SentencePair


def toy_pairs(count: int) -> list[SentencePair]:
    """Return pairs of toy sentences with made-up similarities from 0 to 5."""
    draw = random.Random(0)
    sides = zip(toy_sentences(count, 1), toy_sentences(count, 2), strict=True)
    return [SentencePair(str(i), a, b, draw.randrange(51) / 10) for i, (a, b) in enumerate(sides)]
