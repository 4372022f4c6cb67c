"""What a paper found, held against what was measured. Feeds: telling, page.

The rule: the differences of two rows, seed by seed, have a mean; Student's t over the seeds gives
its 95 % interval. An ordering holds if the interval lies on its side of 0, does not hold if it lies
on the other, and else the two rows are not told apart. Two rows are alike if the interval lies
within the margin of 0, unlike if outside. Rows are scored on the same pairs, and the rule speaks of
these pairs: it takes the seeds for what varies. One seed tells nothing apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.intervals import Interval, over_seeds
from experiment.ablate.measuring import Measured
from experiment.ablate.table import ALIKE, LESS, Expectation, Table

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "not told apart"
UNMEASURED = "not measured"


@dataclass(frozen=True)
class Judged:
    """An expectation and what became of it.

    Attributes:
        verdict: one of the four words above.
        difference: mean over the seeds of `row` minus `other`; None if there is none.
        interval: of that mean, 95 %; None of less than two seeds.
        seeds: how many both rows have.
    """

    expected: Expectation
    verdict: str
    difference: float | None
    interval: Interval | None
    seeds: int


def judge(table: Table, measured: Sequence[Measured]) -> list[Judged]:
    """Return every expectation of a table with its verdict."""
    found: dict[str, dict[int, Measured]] = {}
    for one in measured:
        found.setdefault(one.row, {})[one.seed] = one
    return [_judged(one, found) for one in table.expected]


def _judged(expected: Expectation, found: Mapping[str, Mapping[int, Measured]]) -> Judged:
    row, other = found.get(expected.row, {}), found.get(expected.other, {})
    pairs = [(row[s].values[expected.of], other[s].values[expected.of]) for s in row if s in other]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known or len(known) < len(pairs):
        return Judged(expected, UNMEASURED, None, None, len(known))
    differences = np.array([a - b for a, b in known])
    mean = float(differences.mean())
    if len(known) < 2:
        return Judged(expected, UNDECIDED, mean, None, len(known))
    # Of the rows no error: they are the same for both. Their number then does not matter.
    interval, _ = over_seeds(differences, 0.0, 2)
    return Judged(expected, verdict(expected, interval), mean, interval, len(known))


def verdict(expected: Expectation, interval: Interval) -> str:
    """Return what an interval of the difference says of an expectation."""
    low, high = interval.low, interval.high
    if expected.relation == ALIKE:
        margin = expected.within
        if -margin <= low and high <= margin:
            return HOLDS
        return FAILS if low > margin or high < -margin else UNDECIDED
    if expected.relation == LESS:
        low, high = -high, -low
    return HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED
