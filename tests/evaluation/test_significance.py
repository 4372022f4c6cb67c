"""Paired tests give published values, scipy's and statsmodels'; seeds count as what they are."""

import json
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as other_mcnemar
from statsmodels.stats.multitest import multipletests

from data.tasks import TASKS
from evaluation import intervals, significance
from evaluation.intervals import Interval, over_seeds, resampled, weighted_metric
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
@pytest.mark.parametrize("copies", [1, 2], ids=["rows", "every row twice"])
def test_every_system_is_measured_and_every_two_are_compared(
    task, metric, seeds, copies, few_resamples
):
    systems, gold = made(task, seeds=seeds)
    scores = {
        name: [task_metrics(task, predictions, gold)[metric] for predictions in runs.values()]
        for name, runs in systems.items()
    }
    drawn = {
        name: resampled(
            [weighted_metric(metric, TASKS[task], np.array([*runs.values()]), gold)], np.arange(60)
        )
        for name, runs in systems.items()
    }
    once = compare(task, metric, systems, gold)
    # Every row twice says no more than once, if the two are one cluster.
    systems = {
        name: {seed: np.tile(predictions, copies) for seed, predictions in runs.items()}
        for name, runs in systems.items()
    }
    clusters = np.tile(np.arange(60), copies)
    estimates, comparisons = compare(
        task, metric, systems, np.tile(gold, copies), clusters=clusters
    )
    for estimate, alone in zip(estimates, once[0], strict=True):
        values = scores[estimate.system]
        assert estimate.mean == pytest.approx(np.mean(values))
        assert estimate.interval.low <= estimate.mean <= estimate.interval.high
        deviation = None if len(seeds) == 1 else pytest.approx(np.std(values, ddof=1))
        assert estimate.deviation == deviation
        assert estimate.interval.low == pytest.approx(alone.interval.low)
    assert [(versus.a, versus.b) for versus in comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
    for versus, alone in zip(comparisons, once[1], strict=True):
        difference = np.mean(scores[versus.a]) - np.mean(scores[versus.b])
        assert versus.difference == pytest.approx(difference)
        assert versus.interval.low <= versus.difference <= versus.interval.high
        assert 0 < versus.p <= 1 and versus.seeds == seeds
        assert versus.findable == pytest.approx(alone.findable)
        assert (versus.seeds_share is None) == (len(seeds) == 1)
        exact = metric == "accuracy" and copies == 1  # else McNemar's coins depend on each other
        of_rows = "McNemar, exact" if exact else "paired permutation"
        assert versus.test == (of_rows if len(seeds) == 1 else "t over rows and seeds")
        assert exact or metric == "accuracy" or versus.p == pytest.approx(alone.p)
        if len(seeds) > 1:  # rows and seeds both count
            apart = drawn[versus.a] - drawn[versus.b]
            means = np.subtract(scores[versus.a], scores[versus.b])
            expected = over_seeds(means, apart.mean(axis=0).std(ddof=1), 60)
            assert versus.p == pytest.approx(expected.p)
            assert versus.findable == pytest.approx(expected.findable)
            assert versus.seeds_share == pytest.approx(expected.seeds_share)
    assert comparisons[1].p < 0.05  # the best against the worst
    if copies == 1:
        assert (estimates, comparisons) == once  # to the last digit
    together = adjusted(comparisons)
    assert [versus.p_holm for versus in together] == holm([versus.p for versus in comparisons])
    assert all(versus.decided == (versus.p_holm < 0.05) for versus in together)


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
        method="percentile",
        random_state=np.random.default_rng(0),
    )
    assert (narrow.low, narrow.high) == pytest.approx(again.confidence_interval)
    # 1.96 standard errors to be significant, 0.84 more for 80% power.
    assert both.findable == pytest.approx(2.8016 * again.standard_error, rel=1e-4)


def test_only_wanted_pairs_with_common_seeds_are_compared(few_resamples):
    systems, gold = made("para", seeds=(1, 2))
    systems["b"] = {2: systems["b"][2], 3: systems["b"][1]}
    systems["c"] = {7: systems["c"][1]}
    pairs = [("a", "b"), ("a", "c")]
    (found,) = compare("para", "accuracy", systems, gold, pairs)[1]
    assert (found.a, found.b, found.seeds) == ("a", "b", (2,))
    scores = [task_metrics("para", systems[name][2], gold)["accuracy"] for name in "ab"]
    assert found.difference == pytest.approx(scores[0] - scores[1])


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
    ("both", "only_a", "only_b"), [(50, 1, 9), (50, 5, 5), (9, 0, 0), (0, 6, 0), (40, 7, 30)]
)
def test_mcnemar_is_that_of_statsmodels(both, only_a, only_b):
    counts = both, only_a, only_b, 3
    a, b = (np.repeat(right, counts) for right in ([True, True, False, False], [True, False] * 2))
    expected = other_mcnemar([[both, only_a], [only_b, 3]], exact=True).pvalue
    assert mcnemar(a, b) == pytest.approx(expected)
    assert mcnemar(b, a) == pytest.approx(expected)


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
    pairs, clusters = [(0, 1)], np.arange(rows)
    (p,) = swap_test(metric, TASKS[task], both, gold, pairs=pairs, clusters=clusters)
    # Of two samples of coins; all ways that five rows can fall are no matter of luck.
    assert p == pytest.approx(expected.pvalue, abs=1e-9 if rows == 5 else 0.06)
    assert p < 1 or rows == 5


def test_clusters_change_places_together_in_every_way():
    draw = np.random.default_rng(4)
    gold, clusters = draw.normal(size=12), np.arange(12) // 3
    a, b = gold + draw.normal(size=(2, 12)) * [[0.5], [2.0]]
    a, b = stats.zscore(a), stats.zscore(b)

    def difference(changed):
        first, second = np.where(changed, b, a), np.where(changed, a, b)
        return abs(stats.pearsonr(first, gold)[0] - stats.pearsonr(second, gold)[0]).round(12)

    ways = [difference(np.array(one)[clusters]) for one in product([False, True], repeat=4)]
    both, pairs = np.stack([a, b]), [(0, 1)]
    (p,) = swap_test("pearson", TASKS["sts"], both, gold, pairs=pairs, clusters=clusters)
    assert p == np.mean(np.array(ways) >= ways[0])


def test_several_pairs_are_tested_as_each_alone_and_identical_ones_have_p_1(few_resamples, recwarn):
    draw = np.random.default_rng(8)
    gold = gold_of("sts", 30, draw)
    found = np.stack([system("sts", gold, draw, s) for s in (0.2, 0.5, 0.8) * 2])

    def p_values(*pairs):
        rows = np.arange(30)
        return swap_test("spearman", TASKS["sts"], found, gold, pairs=pairs, clusters=rows).tolist()

    pairs = [(0, 3), (1, 4), (2, 5)]
    assert p_values(*pairs) == [p_values(pair)[0] for pair in pairs]
    assert p_values((0, 0), (1, 1)) == [1.0, 1.0]
    assert not recwarn.list


def test_holm_is_that_of_statsmodels_and_leaves_out_what_is_no_test():
    for p_values in ([0.01, 0.04, 0.03, 0.005], [0.7, 0.8], [0.02]):
        expected = multipletests(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(expected.tolist())
    assert holm([0.01, None, 0.6]) == [0.02, None, 0.6]
    assert holm([]) == []


# --- in words

AHEAD = Comparison(
    "bi", "cross", "pearson", 800, (1,), 0.06, Interval(0.04, 0.08, "percentile"),
    "paired permutation", 0.0004, 0.002, 0.03,
)  # fmt: skip
EQUAL = replace(AHEAD, difference=-0.01, interval=Interval(-0.03, 0.01, ""), p_holm=0.05)
UNDEFINED = replace(AHEAD, difference=None, interval=None, p=None, p_holm=None)
TEST = "paired permutation, p < 0.001, Holm p = 0.002"
REACH = " This test set can detect a difference of 0.030 with 80% power."
WORDS = [
    (AHEAD, f"bi beats cross by 0.060 Pearson (95% CI [0.040, 0.080]; {TEST})."),
    (turned(AHEAD), f"bi beats cross by 0.060 Pearson (95% CI [0.040, 0.080]; {TEST})."),
    (replace(AHEAD, metric="f1", interval=None), f"bi beats cross by 0.060 F1 ({TEST})."),
    (
        EQUAL,
        "bi and cross differ by -0.010 Pearson (95% CI [-0.030, 0.010]; paired permutation, "
        f"p < 0.001, Holm p = 0.050; not significant).{REACH}",
    ),
    (
        replace(EQUAL, difference=-0.0002, interval=None, p_holm=None, p=0.8, findable=None),
        "bi and cross differ by +0.000 Pearson (paired permutation, p = 0.800; not significant).",
    ),
    (UNDEFINED, "bi and cross cannot be compared: Pearson is undefined for one of them."),
    (
        replace(UNDEFINED, difference=0.5, n=2),
        "bi and cross cannot be compared: there are fewer than three rows that share no text.",
    ),
]


@pytest.mark.parametrize(("versus", "words"), WORDS)
def test_comparisons_in_words(versus, words):
    assert sentence(versus) == words


def test_a_comparison_the_other_way_round_has_the_other_interval():
    other = turned(AHEAD)
    assert (other.a, other.b, other.difference) == ("cross", "bi", -0.06)
    assert other.interval == Interval(-0.08, -0.04, "percentile")
    assert turned(UNDEFINED).interval is None and turned(UNDEFINED).difference is None
