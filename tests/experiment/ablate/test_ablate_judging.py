"""The verdict on a claim, against scipy's paired test on made numbers."""

import numpy as np
import pytest
from scipy import stats

from experiment.ablate.measuring import Measured
from experiment.ablate.table import ALIKE, LESS, MORE, Expectation, Row, Table
from experiment.ablate.telling import FAILS, HOLDS, UNDECIDED, UNMEASURED, judge

A = (0.70, 0.71, 0.72)
B = (0.80, 0.82, 0.81)
NOISY = (0.60, 0.90, 0.75)


def measured(row, values):
    return [
        Measured(row, seed, {"best": value}, 1.0, "command") for seed, value in enumerate(values)
    ]


def judged(relation, first, second, within=0.01):
    claim = Expectation("a", relation, "b", "why", within=within)
    rows = (Row("a"), Row("b"))
    table = Table("t", "T", "s", "r", rows, (claim,), columns=("best",))
    (found,) = judge(table, [*measured("a", first), *measured("b", second)])
    return found


@pytest.mark.parametrize(
    ("relation", "first", "second", "expected"),
    [
        (LESS, A, B, HOLDS),
        (MORE, A, B, FAILS),
        (MORE, B, A, HOLDS),
        (LESS, B, A, FAILS),
        (LESS, A, NOISY, UNDECIDED),
        (MORE, A, NOISY, UNDECIDED),
        (ALIKE, A, A, HOLDS),
        (ALIKE, A, B, FAILS),
        (ALIKE, B, A, FAILS),
        (ALIKE, A, NOISY, UNDECIDED),
        (LESS, A, A, UNDECIDED),
        (LESS, A[:1], B[:1], UNDECIDED),
        (ALIKE, A[:1], A[:1], UNDECIDED),
        (LESS, A, (), UNMEASURED),
        (LESS, A, (0.8, None, 0.8), UNMEASURED),
    ],
)
def test_verdicts(relation, first, second, expected):
    assert judged(relation, first, second).verdict == expected


@pytest.mark.parametrize("seed", range(8))
def test_an_ordering_holds_where_the_paired_t_test_says_so(seed):
    draw = np.random.default_rng(seed)
    first, second = draw.normal(0.7, 0.02, 5), draw.normal(0.72, 0.02, 5)
    found = judged(LESS, first, second)
    test = stats.ttest_rel(first, second)
    assert found.difference == pytest.approx((first - second).mean())
    low, high = test.confidence_interval()
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))
    significant = HOLDS if test.statistic < 0 else FAILS
    assert found.verdict == (significant if test.pvalue < 0.05 else UNDECIDED)


def test_only_seeds_that_both_rows_have_are_compared():
    found = judged(LESS, A, B[:2])
    assert found.seeds == 2 and found.difference == pytest.approx(-0.105)
