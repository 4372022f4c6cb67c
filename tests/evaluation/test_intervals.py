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
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3)], ids=["rows", "clusters"])
@pytest.mark.parametrize("kept", [module.KEPT, 0])
def test_resamples_are_those_of_a_plain_loop_and_of_scipy(task, metric, sizes, kept, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 60)
    monkeypatch.setattr(module, "IN_MEMORY", 7 * 50)  # seven resamples at a time
    monkeypatch.setattr(module, "KEPT", kept)
    draw = np.random.default_rng(2)
    clusters = np.repeat(np.arange(50), np.repeat(sizes, 25))[:50]
    gold = gold_of(task, 50, draw)
    systems = np.stack([system(task, gold, draw, skill) for skill in (0.1, 0.5, 0.9)])

    def score(rows, predictions):
        return task_metrics(task, predictions[rows], gold[rows])[metric]

    units, plain = int(clusters.max()) + 1, []
    for drawn in np.random.default_rng(module.SEED).integers(0, units, (60, units)):
        rows = np.concatenate([np.flatnonzero(clusters == unit) for unit in drawn])
        plain.append([score(rows, predictions) for predictions in systems])
    measure = weighted_metric(metric, TASKS[task], systems, gold)
    values = resampled([measure, measure], clusters)
    assert values == pytest.approx(np.tile(np.array(plain).T, (2, 1)), abs=1e-12)
    interval = intervals(task, systems[1], gold, clusters)[metric]
    ends = np.quantile(np.array(plain)[:, 1], [0.025, 0.975])
    assert (interval.low, interval.high) == pytest.approx(tuple(ends), abs=1e-12)
    assert interval.method == "percentile"
    assert standard_error(values[1]) == pytest.approx(np.std(plain, axis=0, ddof=1)[1])
    if sizes == (1, 1):
        expected = stats.bootstrap(
            (np.arange(50),),
            lambda rows: score(rows, systems[1]),
            vectorized=False,
            n_resamples=60,
            method="percentile",
            random_state=np.random.default_rng(module.SEED),
        )
        assert tuple(expected.confidence_interval) == pytest.approx(tuple(ends), abs=1e-12)
        assert intervals(task, systems[1], gold)[metric] == interval


def test_how_many_resamples_are_drawn():
    expected = {3: 10_000, 2000: 10_000, 4000: 5000, 20_000: 1000, 10**6: 1000}
    assert {n: resamples(n) for n in expected} == expected


@pytest.mark.parametrize("metric", ["accuracy", "pearson"])
def test_intervals_of_clusters_hold_the_true_value_and_those_of_rows_do_not(metric, monkeypatch):
    """Sixty clusters of five rows that share most of their luck."""
    monkeypatch.setattr(module, "RESAMPLES", 400)
    draw, clusters = np.random.default_rng(5), np.repeat(np.arange(60), 5)
    task = "para" if metric == "accuracy" else "sts"

    def drawn(count):
        gold = draw.normal(size=(count, 1)) + 0.3 * draw.normal(size=(count, 5))
        predictions = gold + draw.normal(size=(count, 1)) + 0.3 * draw.normal(size=(count, 5))
        sides = predictions.ravel(), gold.ravel()
        return [(side > 0).astype(float) for side in sides] if task == "para" else sides

    truth = task_metrics(task, *drawn(200_000), [metric])[metric]
    held = []
    for _ in range(150):
        sides = drawn(60)
        both = [intervals(task, *sides, own, [metric])[metric] for own in (clusters, None)]
        held.append([interval.low <= truth <= interval.high for interval in both])
    by_clusters, by_rows = np.mean(held, axis=0)
    assert 0.9 <= by_clusters <= 0.99 and by_rows < 0.85


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
    found = intervals(task, np.zeros(n), gold)
    assert list(found) == list(TASKS[task].metrics)
    if n < 3 or TASKS[task].label_kind == "score":
        assert set(found.values()) == {None}
    assert intervals("para", np.zeros(9), np.arange(9) % 2 * 1.0)["f1"] is None  # never called
    equal = np.full(9, 0.5) + 1e-14 * np.arange(9)
    assert percentiles(equal) is None and standard_error(equal) == 0
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


def test_means_over_seeds_vary_with_rows_and_seeds():
    """Rows, seeds and their chances are drawn anew each time; three seeds, as people use."""
    draw, held = np.random.default_rng(3), []
    for _ in range(150):
        rows, seeds = draw.normal(0, 1, 100), draw.normal(0, 0.1, (3, 1))
        scores = 5 + rows + seeds + draw.normal(0, 1, (3, 100))
        error = scores.mean(axis=0).std(ddof=1) / 10
        found = over_seeds(scores.mean(axis=1), error, 100)
        held.append(found.interval.low <= 5 <= found.interval.high)
        assert found.interval.method == "t" and found.p < 1e-3  # 5 is far from 0
    assert 0.92 <= np.mean(held) <= 0.99


def test_over_seeds_is_the_t_test_of_rows_or_of_seeds_where_only_these_vary():
    found = over_seeds(np.array([0.5, 0.5, 0.5]), 0.1, 1000)
    of_rows = stats.t(999, 0.5, 0.1)
    interval = found.interval.low, found.interval.high
    assert interval == pytest.approx(of_rows.interval(0.95))
    assert found.p == pytest.approx(2 * of_rows.cdf(0))
    assert found.findable == pytest.approx(0.1 * (stats.t(999).ppf(0.975) + stats.t(999).ppf(0.8)))
    values = np.array([0.2, 0.5, 0.3])
    found, of_seeds = over_seeds(values, 0.0, 1000), stats.ttest_1samp(values, 0)
    interval = found.interval.low, found.interval.high
    assert found.p == pytest.approx(of_seeds.pvalue)
    assert interval == pytest.approx(of_seeds.confidence_interval(0.95))
    found = over_seeds(np.zeros(3), 0.0, 9)
    assert (found.interval, found.p) == (Interval(0.0, 0.0, "t"), 1.0)
    # The mean's variance over these seeds is 0.00777; of rows as much again makes half of it.
    shares = [over_seeds(values, error, 9).seeds_share for error in (0.0, 0.00777778**0.5, 1e9)]
    assert shares == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)
