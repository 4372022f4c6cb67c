"""Simulated: what is printed holds as often as it says, and decisions agree with intervals."""

from functools import partial

import numpy as np
import pytest

from evaluation import coverage
from evaluation.coverage import (
    calls,
    in_clusters,
    of_averages,
    of_differences,
    of_seeds,
    similarities,
)

SAME = partial(similarities, (0.9, 0.9, 0.9))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(coverage, "RESAMPLES", 200)
    monkeypatch.setattr(coverage, "MANY", 50_000)


@pytest.mark.parametrize(
    ("task", "metric", "population", "each"),
    [
        ("sts", "pearson", SAME, 1),
        ("sts", "pearson", partial(similarities, (0.7, 0.9, 1.1)), 1),
        ("sts", "pearson", partial(in_clusters, SAME), 4),
        ("para", "accuracy", partial(calls, (0.8, 0.8, 0.8)), 1),
    ],
)
def test_intervals_hold_and_decisions_agree_with_them(task, metric, population, each):
    line = of_differences("", task, metric, population, 200, 60, each)
    # Of 180 intervals at 95% or more and 60 trials at 5% or less, some luck allowed.
    assert line.covered > 0.93 and (line.error or 0.0) < 0.12
    assert line.disagree == 0


def test_a_wrong_interval_is_noticed():
    """Rows that are copies, taken for rows of their own: the intervals are half as wide."""
    line = of_differences("", "sts", "pearson", partial(in_clusters, SAME), 200, 60)
    assert line.covered < 0.9 and line.error > 0.2


@pytest.mark.parametrize("sets", [2, 4])
def test_averages_over_few_sets_hold(sets):
    average, rank = of_averages(sets, 500, 0.0)
    assert average.covered == pytest.approx(0.95, abs=0.02)
    assert rank.covered > 0.93
    assert of_averages(sets, 200, 0.05)[0].covered > 0.97


def test_the_made_systems_are_as_good_as_they_should_be():
    draw = np.random.default_rng(0)
    gold, predictions = calls((0.8, 0.7), draw, 20_000)
    assert (predictions == gold).mean(axis=1) == pytest.approx([0.8, 0.7], abs=0.01)
    gold, predictions = similarities((0.5, 2.0), draw, 20_000)
    correlations = [np.corrcoef(gold, run)[0, 1] for run in predictions]
    assert correlations == pytest.approx([1.25**-0.5, 5**-0.5], abs=0.01)


def test_intervals_over_few_seeds_cover_less_than_they_say():
    shares = [of_seeds(seeds, 0.8, 4000).covered for seeds in (2, 3, 5)]
    assert 0.86 < shares[0] < shares[1] < shares[2] < 0.955
    # Where rows account for nearly all of the variance, they hold.
    assert of_seeds(3, 0.01, 4000).covered == pytest.approx(0.95, abs=0.015)
