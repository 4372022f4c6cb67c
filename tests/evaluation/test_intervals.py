"""Intervals are those of a plain loop over clusters, and hold the true value when they should."""

from itertools import product

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats

from data.examples import Sentence, SentencePair
from data.tasks import TASKS
from evaluation import intervals as module
from evaluation.clusters import clusters_of
from evaluation.intervals import (
    Interval,
    TiedOrder,
    exact_share,
    intervals,
    over_seeds,
    percentiles,
    ranks,
    resampled,
    resamples,
    standard_error,
    weighted_metric,
)
from evaluation.metrics import task_metrics

METRICS = [(task, metric) for task, record in TASKS.items() for metric in record.metrics]


def pairs(*texts):
    return [SentencePair(str(k), a, b, 1.0) for k, (a, b) in enumerate(texts)]


# --- rows that share a text are drawn together


def test_a_chain_of_shared_texts_is_one_cluster():
    found = clusters_of(pairs("ab", "cd", "be", "fg", "ec", "hh", "gi"))
    assert found.tolist() == [0, 0, 0, 1, 0, 2, 1]
    assert clusters_of([Sentence(i, i[0], 1) for i in ("x1", "y", "x2")]).tolist() == [0, 1, 0]
    assert clusters_of([]).tolist() == []


def test_clusters_are_those_of_merging_row_by_row():
    draw = np.random.default_rng(0)
    rows = pairs(*draw.integers(0, 60, (50, 2)).astype(str))
    merged = list(range(50))
    for a, b in product(range(50), repeat=2):
        if set(rows[a].texts) & set(rows[b].texts):
            merged = [merged[a] if other == merged[b] else other for other in merged]
    found = clusters_of(rows)
    assert [[x == y for y in found] for x in found] == [[x == y for y in merged] for x in merged]


@pytest.mark.parametrize(("task", "metric"), METRICS)
@pytest.mark.parametrize(
    ("sizes", "kept"), [((1, 1), module.KEPT), ((2, 3), 0)], ids=["rows, kept", "clusters"]
)
def test_resamples_are_those_of_a_plain_loop_and_of_scipy(task, metric, sizes, kept, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 20)
    monkeypatch.setattr(module, "IN_MEMORY", 7 * 50)  # seven resamples at a time
    monkeypatch.setattr(module, "KEPT", kept)
    draw = np.random.default_rng(2)
    clusters = np.repeat(np.arange(50), np.repeat(sizes, 25))[:50]
    gold = gold_of(task, 50, draw)
    systems = np.stack([system(task, gold, draw, skill) for skill in (0.1, 0.5, 0.9)])

    def score(rows, predictions):
        return task_metrics(task, predictions[rows], gold[rows])[metric]

    units, plain = int(clusters.max()) + 1, []
    for drawn in np.random.default_rng(module.SEED).integers(0, units, (20, units)):
        rows = np.concatenate([np.flatnonzero(clusters == unit) for unit in drawn])
        plain.append([score(rows, predictions) for predictions in systems])
    measure = weighted_metric(metric, TASKS[task], systems, gold)
    values = resampled([measure, measure], clusters)
    assert values == pytest.approx(np.tile(np.array(plain).T, (2, 1)), abs=1e-12)
    interval = intervals(task, systems[1], gold, clusters)[metric]
    low, high = np.quantile(np.array(plain)[:, 1], [0.025, 0.975])
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)
    assert interval.method == "percentile"
    assert standard_error(values[1], 4) == pytest.approx(
        np.std(plain, axis=0, ddof=1)[1] * (4 / 3) ** 0.5
    )
    if sizes == (1, 1):
        expected = stats.bootstrap(
            (np.arange(50),),
            lambda rows: score(rows, systems[1]),
            vectorized=False,
            n_resamples=20,
            method="percentile",
            random_state=np.random.default_rng(module.SEED),
        )
        assert tuple(expected.confidence_interval) == pytest.approx((low, high), abs=1e-12)
        assert intervals(task, systems[1], gold)[metric] == interval


def test_how_many_resamples_are_drawn():
    expected = {3: 4000, 2000: 4000, 4000: 2000, 20_000: 1000, 10**6: 1000}
    assert {n: resamples(n) for n in expected} == expected


# --- what has an exact interval, or none


def test_a_system_that_is_right_on_all_rows_may_be_wrong_on_others():
    gold = np.array([0.0, 1.0] * 5)
    assert intervals("para", gold, gold)["accuracy"] == exact_share(1.0, 10)
    assert intervals("para", 1 - gold, gold)["accuracy"] == exact_share(0.0, 10)
    # Clopper and Pearson's lower limit of n in n is (0.05 / 2) to the 1/n.
    assert exact_share(1.0, 10) == Interval(pytest.approx(0.025 ** (1 / 10)), 1.0, "exact")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n", [2, 3, 10])
def test_constants_and_few_rows_have_no_interval_and_no_warning(task, n, recwarn):
    gold = np.arange(n) % TASKS[task].num_classes * 1.0
    kind = TASKS[task].label_kind
    found = intervals(task, np.zeros((n, 4) if kind == "ranking" else n), gold)
    assert list(found) == list(TASKS[task].metrics)
    if n < 3 or kind in ("score", "ranking"):
        assert set(found.values()) == {None}
    assert intervals("para", np.zeros(9), np.arange(9) % 2 * 1.0)["f1"] is None  # never called
    equal = np.full(9, 0.5) + 1e-14 * np.arange(9)
    assert percentiles(equal) is None and standard_error(equal, n) == 0
    assert not recwarn.list


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_what_is_constant_within_a_weighting_correlates_with_nothing(metric, recwarn):
    predictions, gold = np.array([[1.0, 1.0, 2.0]]), np.array([1.0, 2.0, 3.0])
    weights = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0]])
    constant, whole = weighted_metric(metric, TASKS["sts"], predictions, gold)(weights)[0]
    assert constant == 0.0 and whole == pytest.approx(3**0.5 / 2)
    assert not recwarn.list


def test_ranks_under_weights_are_those_of_scipy():
    values = np.array([2.0, 1.0, 2.0, 5.0, 1.0])
    weights = np.array([[1.0, 3.0, 2.0, 1.0, 0.0]])
    rows = np.repeat(np.arange(5), weights[0].astype(int))
    order = TiedOrder(values)
    found = ranks(order.sums(weights.T))[order.place, 0]
    assert found[rows].tolist() == stats.rankdata(values[rows]).tolist()


# --- means over seeds


def ends(interval):
    return interval.low, interval.high


def test_of_one_seed_it_is_the_t_test_of_rows():
    rows = np.random.default_rng(0).normal(0.1, 1, 30)
    resampled = np.random.default_rng(1).choice(rows, (20000, 30)).mean(axis=1)
    found = over_seeds(rows.mean(keepdims=True), standard_error(resampled, 30), 30)
    expected = stats.ttest_1samp(rows, 0)
    assert found.p() == pytest.approx(expected.pvalue, abs=0.01)
    assert found.p(1.0) == pytest.approx(stats.ttest_1samp(rows, 1.0).pvalue, rel=0.1)
    for level in (0.95, 0.99):
        interval = tuple(expected.confidence_interval(level))
        assert ends(found.interval(level)) == pytest.approx(interval, abs=0.02)
    assert found.seeds_share is None and found.freedom == 29


@pytest.mark.parametrize("seeds", [2, 3, 9])
def test_means_over_seeds_are_tested_as_by_welch(seeds):
    """The variance of seeds and that of rows add up as those of two samples do."""
    draw = np.random.default_rng(seeds)
    values, rows = draw.normal(0.3, 0.5, seeds), draw.normal(size=40)
    found = over_seeds(values, rows.std(ddof=1) / 40**0.5, 40)
    welch = stats.ttest_ind(values, rows - rows.mean(), equal_var=False)
    assert found.p() == pytest.approx(welch.pvalue)
    assert ends(found.interval()) == pytest.approx(tuple(welch.confidence_interval(0.95)))
    assert found.interval().method == "t"
    student, error = stats.t(welch.df), np.mean(values) / welch.statistic
    assert found.findable() == pytest.approx(abs(error) * (student.ppf(0.975) + student.ppf(0.8)))


def test_where_only_seeds_vary_it_is_the_t_test_and_where_nothing_does_a_point():
    values = np.array([0.2, 0.5, 0.3])
    found, of_seeds = over_seeds(values, 0.0, 1000), stats.ttest_1samp(values, 0)
    assert found.p() == pytest.approx(of_seeds.pvalue)
    assert ends(found.interval()) == pytest.approx(tuple(of_seeds.confidence_interval(0.95)))
    found = over_seeds(np.zeros(3), 0.0, 9)
    assert (found.interval(), found.p()) == (Interval(0.0, 0.0, "t"), 1.0)
    # The mean's variance over these seeds is 0.00777; of rows as much again makes half of it.
    shares = [over_seeds(values, error, 9).seeds_share for error in (0.0, 0.00777778**0.5, 1e9)]
    assert shares == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)
