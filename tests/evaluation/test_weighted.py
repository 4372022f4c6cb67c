"""A metric of weighted rows is the metric of rows that are there as often as their weights say."""

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy.stats import rankdata

from data.tasks import TASKS
from evaluation.metrics import task_metrics
from evaluation.weighted import TiedOrder, standardised, weighted_metric

PAIRS = [(task, metric) for task, record in TASKS.items() for metric in record.metrics]


@pytest.mark.parametrize(("task", "metric"), PAIRS)
def test_weights_count_how_often_a_row_is_there(task, metric):
    draw = np.random.default_rng(0)
    gold = gold_of(task, 60, draw)
    found = np.stack([system(task, gold, draw, skill) for skill in (0.1, 0.5, 0.9)])
    rows = draw.integers(0, 60, (20, 60))
    weights = np.stack([np.bincount(drawn, minlength=60) for drawn in rows]).astype(float)
    expected = [[task_metrics(task, one[drawn], gold[drawn])[metric] for drawn in rows]
                for one in found]  # fmt: skip
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
    assert TiedOrder(values).ranks(weights)[0, rows].tolist() == rankdata(values[rows]).tolist()


def test_a_constant_is_standardised_to_zeros(recwarn):
    assert standardised(np.full((2, 3), 7.0)).tolist() == np.zeros((2, 3)).tolist()
    assert not recwarn.list
