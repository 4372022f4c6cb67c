"""Paired tests give published values, scipy's and statsmodels'; seeds count as what they are."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats

from data.tasks import TASKS
from evaluation import intervals, significance
from evaluation.intervals import Interval
from evaluation.metrics import task_metrics
from evaluation.significance import (
    Comparison,
    adjusted,
    compare,
    holm,
    mcnemar,
    sentence,
    swap_test,
    turned,
)

PAIRS = [(task, metric) for task, record in TASKS.items() for metric in record.metrics]


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 300)
    monkeypatch.setattr(significance, "SWAPS", 300)


def made(task, n=60, seeds=(1,), skills=(0.2, 0.5, 0.8)):
    """Return systems a, b, c of rising skill, and the labels."""
    draw = np.random.default_rng(0)
    gold = gold_of(task, n, draw)
    return {
        name: {seed: system(task, gold, draw, skill) for seed in seeds}
        for name, skill in zip("abc", skills, strict=True)
    }, gold


@pytest.mark.parametrize(("task", "metric"), PAIRS)
@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_every_system_is_measured_and_every_two_are_compared(task, metric, seeds, few_resamples):
    systems, gold = made(task, seeds=seeds)
    estimates, comparisons = compare(task, metric, systems, gold)
    scores = {
        name: [task_metrics(task, found, gold)[metric] for found in runs.values()]
        for name, runs in systems.items()
    }
    for one in estimates:
        assert one.mean == pytest.approx(np.mean(scores[one.system]))
        assert one.interval.low <= one.mean <= one.interval.high
        assert (one.deviation is None) == (len(seeds) == 1)
        if one.deviation is not None:
            assert one.deviation == pytest.approx(np.std(scores[one.system], ddof=1))
    assert [(one.a, one.b) for one in comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
    for one in comparisons:
        assert one.difference == pytest.approx(np.mean(scores[one.a]) - np.mean(scores[one.b]))
        assert one.interval.low <= one.difference <= one.interval.high
        assert 0 < one.p <= 1 and one.seeds == seeds
        alone = "McNemar, exact" if metric == "accuracy" else "paired permutation"
        assert one.test == (alone if len(seeds) == 1 else "t over rows and seeds")
    assert comparisons[1].p < 0.05  # the best against the worst
    together = adjusted(comparisons)
    assert [one.p_holm for one in together] == holm([one.p for one in comparisons])
    assert all(one.decided == (one.p_holm < 0.05) for one in together)


def test_the_interval_of_a_difference_is_paired(few_resamples):
    """Two systems with the same errors but one: the difference is far surer than either score."""
    gold = np.arange(200) % 2 * 1.0
    draw = np.random.default_rng(1)
    a = np.where(draw.random(200) < 0.7, gold, 1 - gold)
    b = a.copy()
    b[:8] = gold[:8]
    (one, _), (both,) = compare("para", "accuracy", {"a": {1: a}, "b": {1: b}}, gold)
    wide, narrow = one.interval, both.interval
    assert narrow.high - narrow.low < (wide.high - wide.low) / 3
    again = stats.bootstrap(
        (a == gold, b == gold),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        paired=True,
        n_resamples=300,
        random_state=np.random.default_rng(0),
    ).confidence_interval
    assert (narrow.low, narrow.high) == pytest.approx(again)


def test_only_wanted_pairs_with_common_seeds_are_compared(few_resamples):
    systems, gold = made("para", seeds=(1, 2))
    systems["b"] = {2: systems["b"][2], 3: systems["b"][1]}
    systems["c"] = {7: systems["c"][1]}
    pairs = [("a", "b"), ("a", "c")]
    (found,) = compare("para", "accuracy", systems, gold, pairs)[1]
    assert (found.a, found.b, found.seeds) == ("a", "b", (2,))
    scores = [task_metrics("para", systems[name][2], gold)["accuracy"] for name in "ab"]
    assert found.difference == pytest.approx(scores[0] - scores[1])


def test_the_luck_of_seeds_is_not_taken_for_an_effect(monkeypatch):
    """Systems equally good on average, whose seeds differ: rows alone would find a difference."""
    monkeypatch.setattr(intervals, "RESAMPLES", 50)
    draw, significant, by_rows = np.random.default_rng(2), [], []
    gold = np.zeros(150)
    for _ in range(25):
        luck = draw.normal(0.7, 0.06, (2, 3, 1))
        hard = draw.normal(0, 0.1, 150)
        wrong = (draw.random((2, 3, 150)) > luck + hard).astype(float)
        systems = {name: dict(enumerate(wrong[k])) for k, name in enumerate("ab")}
        (found,) = compare("para", "accuracy", systems, gold)[1]
        significant.append(found.p < 0.05)
        by_rows.append(mcnemar(wrong[0, 0] == 0, wrong[1, 0] == 0) < 0.05)
    assert np.mean(significant) <= 0.12  # a standard error of 0.04
    assert np.mean(by_rows) > 0.15


@pytest.mark.parametrize(("task", "metric"), PAIRS)
@pytest.mark.parametrize(("n", "seeds"), [(2, (1,)), (3, (1,)), (3, (1, 2))])
def test_what_cannot_be_compared_is_none_and_what_is_equal_has_p_1(
    task, metric, n, seeds, few_resamples, recwarn
):
    gold = np.arange(n) % TASKS[task].num_classes * 1.0
    systems = {"gold": gold, "same": gold.copy(), "constant": np.zeros(n)}
    systems = {name: dict.fromkeys(seeds, found) for name, found in systems.items()}
    estimates, comparisons = compare(task, metric, systems, gold)
    json.dumps([asdict(one) for one in (*estimates, *comparisons)], allow_nan=False)
    equal, versus, _ = comparisons
    correlation = TASKS[task].label_kind == "score"
    if n >= 3:
        assert (equal.difference, equal.p) == (0.0, 1.0)
        assert (versus.p is None) == correlation
    else:
        assert {one.p for one in comparisons} == {None}
    if correlation:
        assert estimates[2].mean is None and versus.difference is None and versus.interval is None
    assert not any(one.decided for one in comparisons[:1])
    assert not recwarn.list


def test_scores_stay_possible_however_much_seeds_differ(few_resamples):
    gold = np.arange(40) % 2 * 1.0
    wild = {1: gold, 2: 1 - gold}
    (one, _), (both,) = compare("para", "f1", {"a": wild, "b": {1: gold, 2: gold}}, gold)
    assert (one.interval.low, one.interval.high) == (0.0, 1.0)
    assert -1.0 <= both.interval.low <= both.interval.high <= 1.0


# --- paired tests over rows


@pytest.mark.parametrize(
    ("both", "only_a", "only_b", "p"),
    [
        (50, 1, 9, 2 * (1 + 10) / 2**10),  # of ten coins, at most one head, on either side
        (50, 5, 5, 1.0),
        (9, 0, 0, 1.0),  # identical
        (0, 6, 0, 2 / 2**6),
    ],
)
def test_mcnemar_counts_rows_that_only_one_has_right(both, only_a, only_b, p):
    counts = both, only_a, only_b, 3
    a, b = (np.repeat(right, counts) for right in ([True, True, False, False], [True, False] * 2))
    assert mcnemar(a, b) == pytest.approx(p)
    assert mcnemar(b, a) == pytest.approx(p)


@pytest.mark.parametrize(
    ("task", "metric", "rows"), [("sst", "f1", 5), ("sts", "pearson", 5), ("sts", "pearson", 50)]
)
def test_swaps_are_scipys_in_every_way_of_few_rows_and_at_random_of_many(task, metric, rows):
    draw = np.random.default_rng(6)
    gold = gold_of(task, rows, draw)
    a, b = (system(task, gold, draw, skill) for skill in (0.7, 0.4 if rows == 5 else 0.67))

    def difference(first, second):
        scores = [task_metrics(task, found, gold)[metric] for found in (first, second)]
        return round(scores[0] - scores[1], 9)

    expected = stats.permutation_test(
        (stats.zscore(a), stats.zscore(b)) if metric == "pearson" else (a, b),
        difference,
        permutation_type="samples",
        vectorized=False,
        n_resamples=120 if rows == 5 else 1000,
        random_state=np.random.default_rng(intervals.SEED),
    )
    both = np.stack([a, b])
    (p,) = swap_test(metric, TASKS[task], both, gold, [(0, 1)], np.arange(rows))
    # Of two samples of coins; all ways that five rows can fall are no matter of luck.
    assert p == pytest.approx(expected.pvalue, abs=1e-9 if rows == 5 else 0.06)
    assert p < 1 or rows == 5


def test_several_pairs_are_tested_as_each_alone_and_identical_ones_have_p_1(few_resamples, recwarn):
    draw = np.random.default_rng(8)
    gold = gold_of("sts", 30, draw)
    a, b = (np.stack([system("sts", gold, draw, s) for s in (0.2, 0.5, 0.8)]) for _ in range(2))
    found, sts, clusters = np.concatenate([a, b]), TASKS["sts"], np.arange(30)
    pairs = [(0, 3), (1, 4), (2, 5)]
    together = swap_test("spearman", sts, found, gold, pairs, clusters)
    singly = [swap_test("spearman", sts, found, gold, [pair], clusters)[0] for pair in pairs]
    assert together.tolist() == singly
    same = swap_test("pearson", sts, found, gold, [(k, k) for k in range(3)], clusters)
    assert same.tolist() == [1.0] * 3
    assert not recwarn.list


def test_holm_is_worked_by_hand():
    # Sorted: 4 x 0.005, 3 x 0.01, 2 x 0.03; then 0.04, which is not below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, None, 0.6]) == [0.02, None, 0.6]
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


# --- in words

AHEAD = Comparison(
    "bi", "cross", "pearson", 800, (1,), 0.06, Interval(0.04, 0.08, "BCa"),
    "paired permutation", 0.0004, 0.002,
)  # fmt: skip
APART = replace(AHEAD, difference=-0.01, interval=Interval(-0.03, 0.01, "BCa"), p_holm=0.05)
UNDEFINED = replace(AHEAD, difference=None, interval=None, p=None, p_holm=None)
SIZE, TEST = "0.060 [0.040, 0.080]", "(paired permutation, p < 0.001, Holm = 0.002)"
WORDS = [
    (AHEAD, f"bi is ahead of cross by {SIZE} {TEST}"),
    (turned(AHEAD), f"bi is ahead of cross by {SIZE} {TEST}"),
    (replace(turned(AHEAD), a="a", b="b"), f"b is ahead of a by {SIZE} {TEST}"),
    (
        APART,
        "the data cannot tell bi and cross apart: -0.010 [-0.030, 0.010] "
        "(paired permutation, p < 0.001, Holm = 0.050)",
    ),
    (
        replace(APART, interval=None, p_holm=None, p=0.8),
        "the data cannot tell bi and cross apart: -0.010 (paired permutation, p = 0.800)",
    ),
    (
        replace(APART, difference=-0.0002, interval=None, p_holm=None, p=0.8),
        "the data cannot tell bi and cross apart: +0.000 (paired permutation, p = 0.800)",
    ),
    (UNDEFINED, "bi and cross cannot be compared: pearson is undefined"),
    (
        replace(UNDEFINED, difference=0.5, n=2),
        "bi and cross cannot be compared: fewer than three rows that share no text",
    ),
]


def test_comparisons_in_words():
    assert [sentence(versus) for versus, _ in WORDS] == [words for _, words in WORDS]
