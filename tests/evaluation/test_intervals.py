"""Intervals are scipy's, and hold the true value as often as they say; some do not exist."""

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats

from data.tasks import TASKS
from evaluation import intervals as module
from evaluation.intervals import (
    Interval,
    TiedOrder,
    exact_share,
    intervals,
    over_seeds,
    ranks,
    weighted_metric,
)
from evaluation.metrics import task_metrics


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_intervals_are_those_of_scipy_with_the_plain_metric(metric, method, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 200)
    monkeypatch.setattr(module, "MOST_BCA", 40 if method == "BCa" else 39)
    draw = np.random.default_rng(1)
    gold = gold_of("sts", 40, draw)
    found = system("sts", gold, draw)

    def plain(a, b):
        return task_metrics("sts", a, b)[metric]

    expected = stats.bootstrap(
        (found, gold),
        plain,
        paired=True,
        vectorized=False,
        n_resamples=200,
        method=method,
        random_state=np.random.default_rng(module.SEED),
    )
    interval = intervals("sts", found, gold)[metric]
    assert interval.method == method
    assert (interval.low, interval.high) == pytest.approx(expected.confidence_interval, abs=1e-9)


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


def about(found):
    return found.interval, found.p


def test_over_seeds_is_the_t_test_of_rows_or_of_seeds_where_only_these_vary():
    interval, p = about(over_seeds(np.array([0.5, 0.5, 0.5]), 0.1, 1000))
    of_rows = stats.t(999, 0.5, 0.1)
    assert (interval.low, interval.high) == pytest.approx(of_rows.interval(0.95))
    assert p == pytest.approx(2 * of_rows.cdf(0))
    values = np.array([0.2, 0.5, 0.3])
    interval, p = about(over_seeds(values, 0.0, 1000))
    of_seeds = stats.ttest_1samp(values, 0)
    assert p == pytest.approx(of_seeds.pvalue)
    assert (interval.low, interval.high) == pytest.approx(of_seeds.confidence_interval(0.95))
    assert about(over_seeds(np.zeros(3), 0.0, 9)) == (Interval(0.0, 0.0, "t"), 1.0)
    # The mean's variance over these seeds is 0.00777; of rows as much again makes half of it.
    shares = [over_seeds(values, error, 9).seeds_share for error in (0.0, 0.00777778**0.5, 1e9)]
    assert shares == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)


def test_who_is_right_on_all_rows_may_still_be_wrong_on_others():
    gold = np.array([0.0, 1.0] * 5)
    assert intervals("para", gold, gold)["accuracy"] == exact_share(1.0, 10)
    # Clopper and Pearson's lower limit of n in n is (0.05 / 2) to the 1/n.
    assert exact_share(1.0, 10).low == pytest.approx(0.025 ** (1 / 10))
    assert exact_share(1.0, 10).high == 1.0


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n", [2, 3, 10])
def test_constants_and_few_rows_have_no_interval_and_no_warning(task, n, recwarn):
    gold = np.arange(n) % TASKS[task].num_classes * 1.0
    found = intervals(task, np.zeros(n), gold)
    assert list(found) == list(TASKS[task].metrics)
    if n < 3 or TASKS[task].label_kind == "score":
        assert set(found.values()) == {None}
    assert intervals("para", np.zeros(9), np.arange(9) % 2 * 1.0)["f1"] is None  # never called
    assert not recwarn.list


PAIRS = [(task, metric) for task, record in TASKS.items() for metric in record.metrics]


@pytest.mark.parametrize(("task", "metric"), PAIRS)
def test_weights_count_how_often_a_row_is_there(task, metric):
    draw = np.random.default_rng(0)
    gold = gold_of(task, 60, draw)
    found = np.stack([system(task, gold, draw, skill) for skill in (0.1, 0.5, 0.9)])
    rows = draw.integers(0, 60, (20, 60))
    weights = np.stack([np.bincount(drawn, minlength=60) for drawn in rows]).astype(float)
    expected = [
        [task_metrics(task, one[drawn], gold[drawn])[metric] for drawn in rows] for one in found
    ]
    measured = weighted_metric(metric, TASKS[task], found, gold)(weights)
    assert measured == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_what_is_constant_within_a_weighting_correlates_with_nothing(metric, recwarn):
    found, gold = np.array([[1.0, 1.0, 2.0]]), np.array([1.0, 2.0, 3.0])
    weights = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0]])
    constant, whole = weighted_metric(metric, TASKS["sts"], found, gold)(weights)[0]
    assert constant == 0.0 and whole == pytest.approx(3**0.5 / 2)
    assert not recwarn.list


def test_ranks_under_weights_are_those_of_scipy():
    values = np.array([2.0, 1.0, 2.0, 5.0, 1.0])
    weights = np.array([[1.0, 3.0, 2.0, 1.0, 0.0]])
    rows = np.repeat(np.arange(5), weights[0].astype(int))
    order = TiedOrder(values)
    found = ranks(order.sums(weights.T))[order.place, 0]
    assert found[rows].tolist() == stats.rankdata(values[rows]).tolist()
