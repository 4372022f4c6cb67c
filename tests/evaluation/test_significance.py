"""Differences, intervals and p values agree, with each other and with SciPy."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats

from data.tasks import TASKS
from evaluation import intervals
from evaluation.intervals import Interval, over_seeds, resampled, weighted_metric
from evaluation.metrics import task_metrics
from evaluation.significance import (
    Comparison,
    adjusted,
    at_level,
    compare,
    holm,
    holm_levels,
    sentence,
    turned,
)

PAIRS = [(task, metric) for task, record in TASKS.items() for metric in record.metrics]


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 300)


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
        name: {seed: np.concatenate([run] * copies) for seed, run in runs.items()}
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
        assert versus.test == ("t over rows" if len(seeds) == 1 else "t over rows and seeds")
        assert versus.p == pytest.approx(alone.p)
        # Rows and seeds both count.
        apart = drawn[versus.a] - drawn[versus.b]
        means = np.subtract(scores[versus.a], scores[versus.b])
        error = apart.mean(axis=0).std(ddof=1) * (60 / 59) ** 0.5
        expected = over_seeds(means, error, 60)
        assert versus.p == pytest.approx(expected.p())
        assert versus.findable == pytest.approx(expected.findable())
        assert versus.interval.low == pytest.approx(expected.interval().low)
        assert versus.seeds_share == pytest.approx(expected.seeds_share)
    assert comparisons[1].p < 0.05  # the best against the worst
    if copies == 1:
        assert (estimates, comparisons) == once  # to the last digit
    together = adjusted(comparisons)
    assert [versus.p_holm for versus in together] == holm([versus.p for versus in comparisons])
    for versus in together:
        assert versus.decided == (versus.p_holm < 0.05)
        assert versus.decided == (versus.interval.low > 0 or versus.interval.high < 0)


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
    # Of shares of rows it is the paired t test, up to the luck of 300 resamples.
    expected = stats.ttest_rel((a == gold) * 1.0, (b == gold) * 1.0)
    assert both.p == pytest.approx(expected.pvalue, abs=0.01)
    interval = tuple(expected.confidence_interval(0.95))
    assert (narrow.low, narrow.high) == pytest.approx(interval, abs=0.003)
    # 1.96 standard errors to be significant, 0.84 more for 80% power; with 200 rows a bit more.
    error = (narrow.high - narrow.low) / 2 / stats.t(199).ppf(0.975)
    assert both.findable == pytest.approx(2.8016 * error, rel=0.01)


def test_clusters_count_as_one_row(few_resamples):
    """Of clusters of equal size it is the t test of their means."""
    draw = np.random.default_rng(5)
    gold, clusters = np.arange(120) % 2 * 1.0, np.arange(120) // 4
    a, b = (np.where(np.repeat(draw.random(30) < skill, 4), gold, 1 - gold) for skill in (0.9, 0.6))
    systems = {"a": {1: a}, "b": {1: b}}
    _, (versus,) = compare("para", "accuracy", systems, gold, clusters=clusters)
    means = [(run == gold).reshape(30, 4).mean(axis=1) for run in (a, b)]
    assert versus.p == pytest.approx(stats.ttest_rel(*means).pvalue, abs=0.01)
    assert versus.freedom == 29


def test_systems_that_differ_in_every_resample_alike_are_as_sure_as_rows_are_many(few_resamples):
    gold = np.arange(20) % 2 * 1.0
    for rows, decided in ((3, False), (20, True)):
        systems = {"a": {1: gold[:rows]}, "b": {1: 1 - gold[:rows]}}
        _, (versus,) = compare("para", "accuracy", systems, gold[:rows])
        assert versus.p == pytest.approx(2 * stats.t(rows - 1).sf(rows))
        assert (versus.interval.low > 0) == versus.decided == decided


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
    found = gold
    if TASKS[task].label_kind == "ranking":  # the measures of each query
        found = np.tile(np.arange(1, n + 1)[:, None] / n, 4)
    systems = {"gold": found, "same": found.copy(), "constant": np.zeros_like(found)}
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


# --- comparisons made together


def closed(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted by closed testing (Marcus, Peritz & Gabriel 1976), as defined.

    A hypothesis falls with all sets of hypotheses that contain it, each tested by Bonferroni.
    """
    places = range(len(p_values))
    sets = [chosen for size in places for chosen in combinations(places, size + 1)]
    tested = {chosen: min(1.0, len(chosen) * min(p_values[k] for k in chosen)) for chosen in sets}
    return [max(p for chosen, p in tested.items() if place in chosen) for place in places]


def test_holm_is_closed_testing_and_leaves_out_what_is_no_test():
    drawn = np.random.default_rng(0).uniform(0, 0.2, (5, 6)).tolist()
    for p_values in ([0.01, 0.04, 0.03, 0.005], [0.7, 0.8], [0.02], [0.03, 0.03, 0.5], *drawn):
        assert holm(p_values) == pytest.approx(closed(p_values))
    # As by p.adjust of R.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, None, 0.6]) == [0.02, None, 0.6]
    assert holm([]) == []


def test_the_level_of_an_interval_is_that_at_which_holm_decided():
    p_values = [0.04, 0.001, None, 0.02, 0.03]  # 0.02 is not below 0.05 / 3
    levels = holm_levels(p_values)
    assert levels == pytest.approx([1 - 0.05 / 3, 1 - 0.05 / 4, 0.95, 1 - 0.05 / 3, 1 - 0.05 / 3])
    assert holm_levels([0.01, 0.04]) == pytest.approx([0.975, 0.95])
    assert holm_levels([None]) == [0.95]


@pytest.mark.parametrize("freedom", [None, 7.5])
def test_an_interval_at_another_level_has_its_quantiles(freedom):
    student = stats.norm() if freedom is None else stats.t(freedom)
    sides = student.ppf(0.975) * np.array([-0.02, 0.03])  # an interval may have unequal sides
    reach = student.ppf(0.975) + student.ppf(0.8)
    versus = replace(
        AHEAD,
        interval=Interval(*(0.06 + sides), "t"),
        findable=reach * 0.01,
        level=0.95,
        freedom=freedom,
    )
    other = at_level(versus, 0.99)
    wider = 0.06 + student.ppf(0.995) / student.ppf(0.975) * sides
    assert (other.interval.low, other.interval.high) == pytest.approx(tuple(wider))
    assert other.findable == pytest.approx(0.01 * (student.ppf(0.995) + student.ppf(0.8)))
    back = at_level(other, 0.95)
    assert back.interval.low == pytest.approx(versus.interval.low)
    assert at_level(UNDEFINED, 0.99) == replace(UNDEFINED, level=0.99)


# --- in words

AHEAD = Comparison(
    "bi", "cross", "pearson", 800, (1,), 0.06, Interval(0.04, 0.08, "percentile"),
    "t over rows", 0.0004, 0.002, 0.03, level=0.975,
)  # fmt: skip
EQUAL = replace(AHEAD, difference=-0.01, interval=Interval(-0.03, 0.01, ""), p_holm=0.05)
UNDEFINED = replace(AHEAD, difference=None, interval=None, p=None, p_holm=None, findable=None)
TEST = "t over rows, p < 0.001, Holm p = 0.002"
REACH = (
    " With 800 rows, differences below about 0.03 will often be missed: read this as unknown, not "
    "as equal. About 7,200 rows would show a difference of 0.010, as measured here."
)
WORDS = [
    (AHEAD, f"bi beats cross by 0.060 Pearson (97.5% CI [0.040, 0.080]; {TEST})."),
    (turned(AHEAD), f"bi beats cross by 0.060 Pearson (97.5% CI [0.040, 0.080]; {TEST})."),
    (replace(AHEAD, metric="f1", interval=None), f"bi beats cross by 0.060 F1 ({TEST})."),
    (
        EQUAL,
        "bi and cross differ by -0.010 Pearson (97.5% CI [-0.030, 0.010]; t over rows, "
        f"p < 0.001, Holm p = 0.050; not significant).{REACH}",
    ),
    (
        replace(EQUAL, difference=-0.0002, interval=None, p_holm=None, p=0.8, findable=None),
        "bi and cross differ by +0.000 Pearson (t over rows, p = 0.800; not significant).",
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


def test_equivalent_is_an_interval_within_the_margin_or_equal_answers():
    assert AHEAD.within(0.08) and not AHEAD.within(0.079)
    alike = replace(AHEAD, difference=0.0, interval=None, p=1.0)
    assert alike.within(0) and not UNDEFINED.within(1)
    assert not replace(alike, difference=0.001).within(1)


def test_a_comparison_the_other_way_round_has_the_other_interval():
    other = turned(AHEAD)
    assert (other.a, other.b, other.difference) == ("cross", "bi", -0.06)
    assert other.interval == Interval(-0.08, -0.04, "percentile")
    assert turned(UNDEFINED).interval is None and turned(UNDEFINED).difference is None


def test_wider_standard_errors_make_intervals_wider_and_p_values_larger():
    draw = np.random.default_rng(0)
    gold = draw.normal(size=200)
    systems = {
        name: {0: gold + draw.normal(size=200) * scale} for name, scale in (("a", 1), ("b", 1.3))
    }
    (first, _), (plain,) = compare("sts", "pearson", systems, gold)
    (wide, _), (other,) = compare("sts", "pearson", systems, gold, wider=1.5)
    assert other.difference == plain.difference and other.p > plain.p
    assert other.findable == pytest.approx(1.5 * plain.findable)
    for one, two, middle in ((plain, other, plain.difference), (first, wide, first.mean)):
        for end in ("low", "high"):
            distances = [getattr(versus.interval, end) - middle for versus in (one, two)]
            assert distances[1] == pytest.approx(1.5 * distances[0])
