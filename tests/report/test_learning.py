"""Learning curves and rates: where one encoder overtakes the other, and how sure that is."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from made_cells import cell

from evaluation import intervals
from evaluation.intervals import weightings
from evaluation.significance import Estimate
from report import learning
from report.learning import (
    Crossing,
    LearningCurves,
    chosen_rates,
    crossing,
    overtaking,
    rate_sentences,
)

SIZES = [100, 1000, 10000]
ROWS = np.arange(120)  # each by itself
BOTH = ("bi", "cross")


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
    pairs = [(runs(bi), runs(cross)) for bi, cross in noises]
    return gold, dict(zip(SIZES, pairs, strict=True))


def slow_crossing(pairs, gold, seeds, resamples):
    """The bootstrap one resample, one size and one seed at a time."""
    draw, n, places = np.random.default_rng(learning.SEED), len(gold), []
    (weights,) = weightings(np.arange(n))
    weights = weights.astype(int)
    chosen = draw.integers(len(seeds), size=(len(seeds), resamples))
    for b in range(resamples):
        rows = np.repeat(np.arange(n), weights[b])
        lead = []
        for bi, cross in pairs.values():
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
    found = crossing("sts", BOTH, pairs, gold, ROWS)
    places = slow_crossing(pairs, gold, (1, 2), 41)
    assert found.ahead == "cross" and 100 < found.labels < 10000
    # 2.5 and 97.5 percent of 41 sorted resamples are reached at the second and the fortieth.
    assert (found.low, found.high) == pytest.approx((places[1], places[39]))
    assert found.low <= found.labels <= found.high
    assert found.share == np.mean(places > 0)


def test_who_is_ahead_everywhere_overtakes_nowhere():
    gold, pairs = made()
    level = {1000: pairs[10000], 10000: pairs[10000]}
    found = crossing("sts", BOTH, level, gold, ROWS)
    assert (found.ahead, found.labels, found.share) == ("cross", 0.0, 0.0)


def test_curves_that_meet_at_the_last_size_have_no_winner():
    gold, pairs = made()
    crossed = crossing("sts", BOTH, pairs | {10000: (pairs[100][0],) * 2}, gold, ROWS)
    assert crossed.labels == np.inf
    score = Estimate("x", "pearson", 9, (1,), 0.5, None, None)
    points = {"bi": [(100, score), (10000, score)]}
    words = LearningCurves("sts", "sup", "frozen", "test", points, crossed).sentence()
    assert words.endswith(
        ": the cross-encoder and the bi-encoder score the same with 10,000 labels."
    )


def test_encoders_without_a_seed_in_common_have_no_crossing():
    gold, pairs = made()
    for _, cross in pairs.values():
        for seed in list(cross):
            cross[seed + 10] = cross.pop(seed)
    assert crossing("sts", BOTH, pairs, gold, ROWS) is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            Crossing("cross", "bi", 2345.6, 1104.2, np.inf, 0.9),
            "the cross-encoder scores higher than the bi-encoder from about 2,300 labels on "
            "(95% interval of the bootstrap: 1,100 to over 4,000).",
        ),
        (
            Crossing("bi", "cross", 700.0, 0.0, 912.0, 0.6),
            "the bi-encoder scores higher than the cross-encoder from about 700 labels on "
            "(95% interval of the bootstrap: below 250 to 910).",
        ),
        (
            Crossing("bi", "cross", 0.0, 0.0, 0.0, 0.02),
            "the bi-encoder scores higher at every training size tested (250 to 4,000 labels); "
            "the curves cross in 2% of bootstrap resamples.",
        ),
        (
            Crossing("cross", "bi", 3999.0, np.inf, np.inf, 1.0),
            "the cross-encoder scores higher than the bi-encoder from about 4,000 labels on "
            "(95% interval of the bootstrap: over 4,000 to over 4,000).",
        ),
    ],
)
def test_the_sentence_has_the_interval_and_what_lies_outside(found, words):
    score = Estimate("x", "pearson", 9, (1,), 0.5, None, None)
    points = {"bi": [(250, score), (4000, score)], "cross": [(250, score), (4000, score)]}
    curves = LearningCurves("para", "sup", "frozen", "test", points, found)
    where = "Paraphrase detection (supervised SimCSE, frozen encoder): "
    assert curves.sentence() == where + words
    assert replace(curves, crossing=None).sentence() == ""


def tried(encoder, *scores, **more):
    """Return a cell whose rate was chosen from 5e-5 and so on, by these scores."""
    rates = [5e-5, 1.5e-4, 5e-4]
    trials = [{"rate": r, "score": score} for r, score in zip(rates, scores, strict=False)]
    best = max(trials, key=lambda trial: trial["score"] or 0)
    return cell(reader=encoder, tune="full", choice=best | {"tried": trials}, **more)


def test_rates_are_compared_one_by_one_and_each_at_its_best():
    bi = [tried("bi", 0.50, 0.60, None, seed=1), tried("bi", 0.52, 0.64, 0.4, seed=2)]
    cross = tried("cross", 0.55, 0.50, 0.66)
    dev = [*bi, cross]
    cells = [
        *dev,
        *(replace(one, split="test") for one in dev),
        cell(),
        tried("late", 0.1, task="para"),
    ]
    assert rate_sentences(cells) == [
        "Learning-rate search on STS (supervised SimCSE, fully fine-tuned, held-out training "
        "examples): at 5e-5 the cross-encoder leads by 0.040 Pearson; at 1.5e-4 the bi-encoder "
        "leads by 0.120; at 5e-4 the cross-encoder leads by 0.260; with the best rate for each, "
        "the cross-encoder leads by 0.040."
    ]
    assert chosen_rates(bi) == "1.5e-4" and chosen_rates(dev) == "1.5e-4 5e-4"
    assert chosen_rates([cell()]) == "-"
