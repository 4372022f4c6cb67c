"""The paraphrase task: two meanings are drawn and worded by one rule; then one or both are chosen.

The meanings F and G differ in one part. Two texts of each are made by one rule that does not depend
on the label. A positive pair takes both texts from F or both from G, a negative pair one of each.
So single texts, lengths, forms of a pair and kinds of edits have the same distribution under both
labels. Pairs with the same words in another order are duplicates as often as others.
Reads: twins, wordings. Feeds: suites, generate; data.synthetic.probes.labels.
"""

from dataclasses import dataclass, replace
from functools import partial
from random import Random

from data.synthetic import edits
from data.synthetic.frames import Frame, chance, weighted
from data.synthetic.pairs import Example
from data.synthetic.sampling import kept
from data.synthetic.twins import (
    Draw,
    Meaning,
    done_or_not,
    edited,
    exchanged,
    in_one_clause,
    other_question,
    same_topic,
    several,
    swapped,
    true_both_ways,
    unrelated,
)
from data.synthetic.wordings import Side, say_sides, two_sides

# The share with the same words among pairs that differ only in order; the others have synonyms.
PLAIN = 0.15
MARKS = str.maketrans("", "", ",;:.?")


@dataclass(frozen=True)
class Kind:
    """A way in which two meanings differ, and how often it is drawn."""

    name: str
    draw: Draw
    weight: float
    plain: float = PLAIN  # the share with the same words in both texts, if `ordered`

    @property
    def ordered(self) -> bool:
        """Return whether the meanings may differ only in order."""
        return self.name in ("role swap", "adjective swap", "agent exchange", "symmetric verb")

    @property
    def voices(self) -> bool:
        """Return whether one text is active and the other passive."""
        return self.name == "role swap, passive"


@dataclass(frozen=True)
class Labelled:
    """A pair of texts, their meanings with the words used, and whether these are the same."""

    texts: tuple[str, str]
    meanings: tuple[Meaning, Meaning]
    same: bool
    phenomenon: str


def _swap(name: str, weight: float) -> Kind:
    swap = edits.swap_adjectives if name == "adjective swap" else edits.swap_roles
    return Kind(name, partial(swapped, kind=name, swap=swap), weight)


def _edit(name: str, weight: float) -> Kind:
    return Kind(name, partial(edited, kind=name), weight)


KINDS = [
    _swap("role swap", 0.1), _swap("role swap, passive", 0.07), _swap("adjective swap", 0.03),
    Kind("agent exchange", exchanged, 0.05), Kind("symmetric verb", true_both_ways, 0.02),
    Kind("two clauses", in_one_clause, 0.05), Kind("factuality", done_or_not, 0.03),
    Kind("other question", other_question, 0.025), Kind("several parts", several, 1.2),
    Kind("same topic", same_topic, 0.2), Kind("unrelated", unrelated, 0.03),
    _edit("negation", 0.02), _edit("number", 0.02), _edit("place", 0.04), _edit("time", 0.015),
    _edit("antonym adjective", 0.03), _edit("antonym manner", 0.015), _edit("antonym verb", 0.035),
    _edit("other agent", 0.06), _edit("other patient", 0.07), _edit("other verb", 0.045),
]  # fmt: skip

# As in MRPC, most negatives have another content, and few the same words in another order.
MILD = [
    _edit("other agent", 0.14), _edit("other patient", 0.14), _edit("other verb", 0.14),
    Kind("same topic", same_topic, 0.14), Kind("unrelated", unrelated, 0.04),
    Kind("two clauses", in_one_clause, 0.1), _swap("role swap", 0.05),
    _swap("role swap, passive", 0.05), _edit("place", 0.06), _edit("negation", 0.04),
    _edit("number", 0.04), _edit("antonym adjective", 0.06), _edit("time", 0.03),
]  # fmt: skip

# These differ only in order, and most have the same words. So only the roles of the participants
# can be learnt from them.
ORDER = [
    replace(kind, plain=0.7)
    for kind in KINDS
    if kind.name in ("role swap", "role swap, passive", "adjective swap", "agent exchange")
]


def labelled_pair(
    random: Random, split: str, positive: bool, kinds: list[Kind] = KINDS
) -> Labelled:
    """Return a pair of one of the kinds, drawn until it succeeds, which keeps the shares."""
    kind = weighted(random, kinds, [kind.weight for kind in kinds])
    plain = kind.ordered and chance(random, kind.plain)
    while True:
        twins = kind.draw(random, split)
        if twins is None:
            continue
        sides = two_sides(random, twins, plain)
        if split == "train" and any(map(kept, _frames(sides))):
            continue
        texts = say_sides(random, sides, kind.voices, plain)
        if texts is None or not _differ(texts, plain):
            continue
        first = int(random.random() * 2)
        second = first if positive else 1 - first
        return Labelled(
            (texts[0][first], texts[1][second]),
            (sides[0][first], sides[1][second]),
            positive,
            kind.name,
        )


def _frames(sides: tuple[Side, Side]) -> list[Frame]:
    return [frame for side in sides for meaning in side for frame in meaning]


def _differ(texts: list[list[str]], plain: bool) -> bool:
    """Return whether all possible pairs have two different texts and the required words.

    A fixed share of pairs that differ only in order has the same words in both texts, under both
    labels. The requirements are the same for positive and negative pairs.
    """
    if set(texts[0]) & set(texts[1]):
        return False
    bags = [[_bag(text) for text in side] for side in texts]
    same = [bags[0][n] == bags[1][m] for n in (0, 1) for m in (0, 1)]
    return all(same) if plain else not any(same)


def _bag(text: str) -> list[str]:
    return sorted(text.lower().translate(MARKS).split())


def duplicate_pair(
    random: Random, split: str, positive: bool, kinds: list[Kind] = KINDS
) -> Example:
    """Return a row of the paraphrase task, or of a task with other kinds of pairs."""
    pair = labelled_pair(random, split, positive, kinds)
    return Example(pair.texts, "1.0" if positive else "0.0", pair.phenomenon)
