"""Where predictions are wrong: groups of rows, paired intervals."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import bootstrap

from data.examples import Sentence, SentencePair
from data.tasks import TASKS
from evaluation.clusters import alone
from evaluation.intervals import RESAMPLES, SEED
from evaluation.slices import (
    FEWEST,
    band_of,
    groups,
    paired_interval,
    properties,
    slices,
)

STS, PARA, SST = TASKS["sts"], TASKS["para"], TASKS["sst"]
DRAW = np.random.default_rng(0)
PAIR = SentencePair("1", "a b c d", "a b e f", 2.5, phenomenon="role swap")


def pair(first, second):
    return replace(PAIR, text_a=first, text_b=second)


LONG = " ".join(["word"] * 20)
PROPERTIES = {
    "word overlap": [
        ("a b", "c d", "0.0 to 0.2"),
        ("a b c d", "a b e f", "0.2 to 0.4"),  # 2 of 6
        ("a b c d", "A, b, c!", "0.6 to 0.8"),  # 3 of 4
        ("dog bites man", "Man bites dog.", "the same words"),
    ],
    "negation": [
        ("It is not so", "never", "2 of 2 texts"),
        ("I do n't know", "yes", "1 of 2 texts"),
        ("I can’t", "yes", "1 of 2 texts"),
        ("another note, nothingness", "a knot", "0 of 2 texts"),
    ],
    "length": [
        ("one", "a b c d e", "0 to 5 words"),
        ("a b c d e f", "one", "6 to 10 words"),
        (LONG, "one", "11 to 20 words"),
        ("one", f"{LONG} more", "21 words or more"),
    ],
}


@pytest.mark.parametrize("by", PROPERTIES)
def test_properties_of_pairs(by):
    groups_of = [properties(pair(a, b), STS)[by] for a, b, _ in PROPERTIES[by]]
    assert groups_of == [group for *_, group in PROPERTIES[by]]


def test_every_slice_has_the_means_of_its_rows():
    labels = DRAW.uniform(0, 5, 200).tolist()
    tags = DRAW.choice(["role swap", "passive"], 200).tolist()
    rows = [
        replace(PAIR, label=label, phenomenon=tag) for label, tag in zip(labels, tags, strict=True)
    ]
    bi, cross = DRAW.uniform(size=200), DRAW.uniform(size=200)
    found = slices(groups(rows, STS), bi, cross, alone(200))
    assert [s.by for s in found[:4]] == ["all", "phenomenon", "phenomenon", "word overlap"]
    assert [s.name for s in found if s.by == "label"] == [f"{n} to {n + 1}" for n in range(5)]
    lengths = [pair(" ".join(["w"] * count), "w") for count in (30, 7, 15, 2)]
    named = [name for by, name, _ in groups(lengths, STS) if by == "length"]
    assert named == ["0 to 5 words", "6 to 10 words", "11 to 20 words", "21 words or more"]
    for by in ("phenomenon", "word overlap", "length", "negation", "label"):
        assert sum(s.n for s in found if s.by == by) == 200
    swap = next(s for s in found if s.name == "role swap")
    own = np.array(tags) == "role swap"
    assert swap.n == own.sum() and swap.bi == pytest.approx(bi[own].mean())
    assert swap.difference == pytest.approx(bi[own].mean() - cross[own].mean())
    assert swap.low < swap.difference < swap.high
    json.dumps([asdict(s) for s in found], allow_nan=False)


def test_rows_without_tags_and_single_texts_have_fewer_properties():
    rows = [Sentence(str(n), "a text", n % 5) for n in range(10)]
    found = slices(groups(rows, SST), np.ones(10), np.zeros(10), alone(10))
    assert {s.by for s in found} == {"all", "length", "negation", "label"}
    assert {s.name for s in found if s.by == "negation"} == {"0 of 1 texts"}
    assert [s.name for s in found if s.by == "label"] == ["0", "1", "2", "3", "4"]
    binary = [replace(PAIR, label=1.0)]
    found = slices(groups(binary, PARA), np.ones(1), np.ones(1), alone(1))
    assert [s.name for s in found if s.by == "label"] == ["1"]


@pytest.mark.parametrize("size", [1, 2])
def test_an_interval_of_paired_means_is_scipys_over_clusters(size):
    """Rows of one cluster differ alike, and say no more than one of them."""
    first, second = DRAW.normal(0.2, 1, 60), DRAW.normal(size=60)
    expected = bootstrap(
        (first, second),
        lambda a, b, axis=-1: a.mean(axis=axis) - b.mean(axis=axis),
        paired=True,
        n_resamples=RESAMPLES,
        method="percentile",
        random_state=np.random.default_rng(SEED),
    ).confidence_interval
    # Of a slice, clusters have gaps in their numbers.
    found = paired_interval(first.repeat(size), second.repeat(size), 3 * alone(60).repeat(size))
    assert (found.low, found.high) == pytest.approx(tuple(expected))


def test_nothing_is_promised_of_few_rows_or_of_rows_that_all_differ_alike():
    assert paired_interval(np.arange(FEWEST - 1.0), np.zeros(FEWEST - 1), alone(FEWEST - 1)) is None
    assert paired_interval(np.ones(50), np.zeros(50), alone(50)) is None
    assert paired_interval(np.arange(50.0), np.zeros(50), alone(50) // 50) is None
    assert paired_interval(np.arange(50.0), np.zeros(50), alone(50) // 25) is not None
    assert paired_interval(np.arange(FEWEST + 0.0), np.zeros(FEWEST), alone(FEWEST)) is not None


def test_a_band_holds_its_upper_end():
    ends = {0: "0 to 1", 1: "0 to 1", 1.001: "1 to 2", 4: "3 to 4", 5: "4 to 5"}
    assert {rating: band_of(rating, 5) for rating in ends} == ends
