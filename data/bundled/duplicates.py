"""The paraphrase task: its kinds of pairs and their shares.

Reads: alike, differing. Feeds: scored, suites, generate.
"""

from random import Random

from data.bundled.alike import (
    clause_order,
    double_negative,
    paraphrase,
    reordered,
    same_question,
    symmetric,
    synonyms,
    voices,
)
from data.bundled.differing import (
    edited,
    exchanged_agents,
    not_done,
    other_question,
    same_topic,
    swapped_passive,
    unrelated,
)
from data.bundled.pairs import Example, Maker, Pair
from data.bundled.sampling import kept

POSITIVE: list[tuple[Maker, float]] = [
    (synonyms, 0.17), (reordered, 0.15), (voices, 0.2), (paraphrase, 0.16), (same_question, 0.12),
    (symmetric, 0.07), (clause_order, 0.08), (double_negative, 0.05),
]  # fmt: skip


NEGATIVE: list[tuple[Maker, float]] = [
    (edited("role swap"), 0.16), (swapped_passive, 0.16), (exchanged_agents, 0.09),
    (edited("adjective swap"), 0.06), (edited("negation"), 0.06), (edited("number"), 0.05),
    (edited("place"), 0.05), (edited("time"), 0.03), (edited("antonym adjective"), 0.05),
    (edited("antonym manner"), 0.03), (edited("antonym verb"), 0.04), (edited("other agent"), 0.05),
    (edited("other patient"), 0.05), (edited("other verb"), 0.03), (other_question, 0.04),
    (not_done, 0.06), (same_topic, 0.03), (unrelated, 0.01),
]  # fmt: skip

# As in MRPC, most negatives say something else, and few the same words in another order.
MILD: list[tuple[Maker, float]] = [
    (edited("other agent", 0.4), 0.12), (edited("other patient", 0.4), 0.12),
    (edited("other verb", 0.4), 0.1), (same_topic, 0.16), (unrelated, 0.05),
    (edited("role swap"), 0.08), (swapped_passive, 0.08), (edited("place"), 0.08),
    (edited("negation"), 0.06), (edited("number"), 0.06), (edited("antonym adjective"), 0.05),
    (edited("time"), 0.04),
]  # fmt: skip


def weighted(random: Random, makers: list[tuple[Maker, float]]) -> Maker:
    """Return one of the makers, drawn by weight."""
    point = random.random() * sum(weight for _, weight in makers)
    for maker, weight in makers:
        point -= weight
        if point < 0:
            return maker
    return makers[-1][0]


def make(random: Random, split: str, makers: list[tuple[Maker, float]]) -> Pair:
    """Return a pair by one of the makers, which draws until it succeeds: so the shares are kept."""
    maker = weighted(random, makers)
    while True:
        pair = maker(random, split)
        if pair is None or pair.texts[0] == pair.texts[1]:
            continue
        if split != "train" or not any(kept(frame) for frame in pair.frames):
            return pair


def duplicate_pair(
    random: Random, split: str, positive: bool, negative: list[tuple[Maker, float]] = NEGATIVE
) -> Example:
    """Return a row of the paraphrase task, or of one with other makers of negatives."""
    pair = make(random, split, POSITIVE if positive else negative)
    return Example(pair.texts, "1.0" if positive else "0.0", pair.phenomenon)
