"""Learning curves: where one encoder overtakes the other, and how sure that is."""

import numpy as np
import pytest
import scipy.stats

from evaluation import intervals
from evaluation.intervals import weightings
from evaluation.significance import Estimate
from report import learning
from report.learning import Crossing, LearningCurves, crossing, overtaking

SIZES = [100, 1000, 10000]
ROWS = np.arange(120)  # each by itself


@pytest.mark.parametrize(
    ("lead", "labels"),
    [
        ([-1.0, 1.0, 2.0], 10**2.5),
        ([-1.0, 3.0, 3.0], 10**2.25),
        ([1.0, -1.0, 1.0], 10**3.5),  # the last time counts
        ([0.0, 1.0, 1.0], 100.0),
        ([0.1, 0.1, 0.1], 0.0),
        ([1.0, 1.0, -0.1], np.inf),
    ],
)
def test_a_lead_is_interpolated_along_the_logarithm_of_the_size(lead, labels):
    assert overtaking(SIZES, np.array(lead)) == pytest.approx(labels)


def made(seeds=(1, 2), n=120):
    """The cross-encoder's scores get better with labels, the bi-encoder's hardly."""
    draw = np.random.default_rng(0)
    gold = draw.uniform(0, 5, n)

    def runs(noise):
        return {seed: gold + noise * draw.normal(size=n) for seed in seeds}

    noises = [(2.0, 4.0), (1.9, 2.1), (1.8, 0.7)]
    return gold, [(runs(bi), runs(cross)) for bi, cross in noises]


def slow_crossing(pairs, gold, seeds, resamples):
    """The bootstrap one resample, one size and one seed at a time."""
    draw, n, places = np.random.default_rng(learning.SEED), len(gold), []
    (weights,) = weightings(np.arange(n))
    weights = weights.astype(int)
    chosen = draw.integers(len(seeds), size=(len(seeds), resamples))
    for b in range(resamples):
        rows = np.repeat(np.arange(n), weights[b])
        lead = []
        for bi, cross in pairs:
            scores = [
                scipy.stats.pearsonr(own[seeds[s]][rows], gold[rows]).statistic
                for s in chosen[:, b]
                for own in (cross, bi)
            ]
            lead.append(np.mean(scores[::2]) - np.mean(scores[1::2]))
        places.append(overtaking(SIZES, np.array(lead)))
    return np.sort(places)


def test_the_interval_is_that_of_a_slow_bootstrap_over_rows_and_seeds(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 41)
    gold, pairs = made()
    found = crossing("sts", "pearson", SIZES, pairs, gold, ROWS, ("bi", "cross"))
    places = slow_crossing(pairs, gold, (1, 2), 41)
    assert found.ahead == "cross" and 100 < found.labels < 10000
    # 2.5 and 97.5 percent of 41 sorted resamples are reached at the second and the fortieth.
    assert (found.low, found.high) == pytest.approx((places[1], places[39]))
    assert found.low <= found.labels <= found.high
    assert found.share == np.mean(places > 0)


def test_who_is_ahead_everywhere_overtakes_nowhere():
    gold, pairs = made()
    found = crossing("sts", "pearson", SIZES[1:], [pairs[2], pairs[2]], gold, ROWS, ("bi", "cross"))
    assert (found.ahead, found.labels, found.share) == ("cross", None, 0.0)


def test_encoders_without_a_seed_in_common_have_no_crossing():
    gold, pairs = made()
    apart = [(bi, {seed + 10: own for seed, own in cross.items()}) for bi, cross in pairs]
    assert crossing("sts", "pearson", SIZES, apart, gold, ROWS, ("bi", "cross")) is None


def curves(found):
    score = Estimate("x", "pearson", 9, (1,), 0.5, None, None)
    points = {"bi": [(250, score), (4000, score)], "cross": [(250, score), (4000, score)]}
    return LearningCurves("sts", "sup, frozen", "test", points, found)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            Crossing("cross", "bi", 2345.6, 1104.2, np.inf, 0.9),
            "the cross-encoder overtakes the bi-encoder at about 2,300 labels "
            "[1,100, not within 4,000]",
        ),
        (Crossing("bi", "cross", 700.0, 0.0, 912.0, 0.6), "at about 700 labels [below 250, 910]"),
        (
            Crossing("bi", "cross", None, 0.0, 0.0, 0.02),
            "the bi-encoder is ahead at every size from 250 to 4,000 labels "
            "(the curves cross in 2% of resamples)",
        ),
    ],
)
def test_the_sentence_has_the_interval_and_what_lies_outside(found, words):
    assert words in curves(found).sentence()
