"""Rows that share a text are drawn together; where none is shared, everything is as it was."""

from itertools import product

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats

from data.examples import Sentence, SentencePair
from data.tasks import TASKS
from evaluation import intervals as module
from evaluation.clusters import clusters_of
from evaluation.intervals import bootstrap, intervals, weighted_metric, weightings
from evaluation.metrics import task_metrics
from evaluation.significance import SWAPS_TEST, compare, swap_test
from evaluation.slices import paired_interval

METRICS = [(task, metric) for task, record in TASKS.items() for metric in record.metrics]


def pairs(*texts):
    return [SentencePair(str(k), a, b, 1.0) for k, (a, b) in enumerate(texts)]


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
            merged = [merged[a] if own == merged[b] else own for own in merged]
    found = clusters_of(rows)
    assert [[x == y for y in found] for x in found] == [[x == y for y in merged] for x in merged]


@pytest.mark.parametrize(("task", "metric"), METRICS)
def test_where_no_text_is_shared_nothing_changes_to_the_last_digit(task, metric, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 200)
    draw = np.random.default_rng(1)
    gold = gold_of(task, 40, draw)
    own = clusters_of(pairs(*((f"a{k}", f"b{k}") for k in range(40))))
    systems = {
        name: {1: system(task, gold, draw, skill)} for name, skill in (("a", 0.3), ("b", 0.8))
    }
    assert compare(task, metric, systems, gold) == compare(
        task, metric, systems, gold, clusters=own
    )
    assert intervals(task, systems["a"][1], gold) == intervals(task, systems["a"][1], gold, own)


@pytest.mark.parametrize(("task", "metric"), METRICS)
def test_resamples_of_clusters_are_those_of_a_plain_loop(task, metric, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 60)
    draw = np.random.default_rng(2)
    gold, clusters = gold_of(task, 60, draw), np.arange(60) // np.array([2, 3]).repeat(30)
    clusters = np.unique(clusters, return_inverse=True)[1]
    found = system(task, gold, draw)
    units, again, plain = int(clusters.max()) + 1, np.random.default_rng(module.SEED), []
    for drawn in again.integers(0, units, (60, units)):
        rows = np.concatenate([np.flatnonzero(clusters == one) for one in drawn])
        plain.append(task_metrics(task, found[rows], gold[rows])[metric])
    measure = weighted_metric(metric, TASKS[task], found[None], gold)
    fast = np.concatenate([measure(weights)[0] for weights in weightings(clusters)])
    assert fast == pytest.approx(np.array(plain), abs=1e-12)
    low, high = np.quantile(plain, [0.025, 0.975])
    percentile = bootstrap(measure, clusters, accelerated=False).interval(0)
    assert (percentile.low, percentile.high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(("task", "metric"), METRICS)
def test_every_row_twice_says_no_more_than_once(task, metric, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 300)
    draw = np.random.default_rng(3)
    gold = gold_of(task, 50, draw)
    found = {name: {1: system(task, gold, draw, skill)} for name, skill in (("a", 0.4), ("b", 0.6))}
    twice = {name: {1: np.tile(runs[1], 2)} for name, runs in found.items()}
    (one,), (both,) = (
        compare(task, metric, *own)[1]
        for own in ((found, gold), (twice, np.tile(gold, 2), None, np.tile(np.arange(50), 2)))
    )
    assert both.difference == pytest.approx(one.difference)
    ends = [(own.interval.low, own.interval.high, own.findable) for own in (one, both)]
    assert ends[1] == pytest.approx(ends[0])
    assert both.test == SWAPS_TEST  # McNemar's coins would not be independent
    assert metric == "accuracy" or both.p == one.p


def test_clusters_change_places_together_in_every_way():
    draw = np.random.default_rng(4)
    gold, clusters = draw.normal(size=12), np.arange(12) // 3
    a, b = gold + draw.normal(size=(2, 12)) * [[0.5], [2.0]]
    a, b = stats.zscore(a), stats.zscore(b)

    def difference(changed):
        first, second = np.where(changed, b, a), np.where(changed, a, b)
        return abs(stats.pearsonr(first, gold)[0] - stats.pearsonr(second, gold)[0]).round(12)

    ways = [difference(np.array(one)[clusters]) for one in product([False, True], repeat=4)]
    (p,) = swap_test("pearson", TASKS["sts"], np.stack([a, b]), gold, [(0, 1)], clusters)
    assert p == np.mean(np.array(ways) >= ways[0])


@pytest.mark.parametrize("metric", ["accuracy", "pearson"])
def test_intervals_of_clusters_hold_the_true_value_and_those_of_rows_do_not(metric, monkeypatch):
    """Sixty clusters of five rows that share most of their luck."""
    monkeypatch.setattr(module, "RESAMPLES", 400)
    draw, clusters = np.random.default_rng(5), np.repeat(np.arange(60), 5)

    def made(count):
        gold = draw.normal(size=(count, 1)) + 0.3 * draw.normal(size=(count, 5))
        found = gold + draw.normal(size=(count, 1)) + 0.3 * draw.normal(size=(count, 5))
        return found.ravel(), gold.ravel()

    def of(found, gold):
        if metric == "accuracy":
            return "para", (found > 0).astype(float), (gold > 0).astype(float)
        return "sts", found, gold

    task, found, gold = of(*made(200_000))
    truth = task_metrics(task, found, gold, [metric])[metric]
    held = []
    for _ in range(150):
        task, found, gold = of(*made(60))
        both = [intervals(task, found, gold, own, [metric])[metric] for own in (clusters, None)]
        held.append([one.low <= truth <= one.high for one in both])
    by_clusters, by_rows = np.mean(held, axis=0)
    assert 0.9 <= by_clusters <= 0.99 and by_rows < 0.85


def test_the_mean_difference_of_many_clusters_is_as_wide_as_that_of_their_means():
    draw = np.random.default_rng(6)
    shared = draw.normal(size=3000).repeat(2)
    low, high = paired_interval(shared, np.zeros(6000), np.arange(3000).repeat(2))
    expected = stats.ttest_1samp(shared[::2], 0).confidence_interval()
    assert (low, high) == pytest.approx(tuple(expected))
