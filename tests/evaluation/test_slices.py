"""Slices: properties of rows, means of errors, paired intervals as scipy and theory have them."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import bootstrap, norm

from data.examples import Sentence, SentencePair
from data.tasks import TASKS
from evaluation.properties import length, negation, word_overlap
from evaluation.slices import FEWEST, MOST_RESAMPLED, groups, paired_interval, slices

STS, PARA, SST = TASKS["sts"], TASKS["para"], TASKS["sst"]
DRAW = np.random.default_rng(0)
PAIR = SentencePair("1", "a b c d", "a b e f", 2.5, phenomenon="role swap")


def pair(first, second):
    return replace(PAIR, text_a=first, text_b=second)


@pytest.mark.parametrize(
    ("first", "second", "group"),
    [
        ("a b", "c d", "0.0 to 0.2"),
        ("a b c d", "a b e f", "0.2 to 0.4"),  # 2 of 6
        ("a b c d", "A, b, c!", "0.6 to 0.8"),  # 3 of 4
        ("dog bites man", "Man bites dog.", "the same words"),
    ],
)
def test_word_overlap_in_fifths(first, second, group):
    assert word_overlap(pair(first, second), STS) == group
    assert word_overlap(Sentence("1", first, 0), SST) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It is not so", 1), ("NO!", 1), ("I do n't know", 1), ("I can’t", 1), ("Nobody came", 1),
        ("another note, nothingness, a knot", 0), ("without it", 1),
    ],
)  # fmt: skip
def test_negation_is_found_as_a_word(text, count):
    assert negation(Sentence("1", text, 0), SST) == f"{count} of 1 texts"
    assert negation(pair(text, "never"), STS) == f"{count + 1} of 2 texts"


@pytest.mark.parametrize(
    ("words", "group"),
    [(1, "0 to 5"), (5, "0 to 5"), (6, "6 to 10"), (20, "11 to 20"), (21, "21"), (99, "21")],
)
def test_length_is_that_of_the_longer_text(words, group):
    text = " ".join(["word"] * words)
    assert length(pair("one", text), STS).startswith(f"{group} words")


def test_every_slice_has_the_means_of_its_rows():
    labels = DRAW.uniform(0, 5, 200).tolist()
    tags = DRAW.choice(["role swap", "passive"], 200).tolist()
    rows = [
        replace(PAIR, label=label, phenomenon=tag) for label, tag in zip(labels, tags, strict=True)
    ]
    bi, cross = DRAW.uniform(size=200), DRAW.uniform(size=200)
    found = slices(groups(rows, STS), bi, cross)
    assert [s.by for s in found[:4]] == ["all", "phenomenon", "phenomenon", "word overlap"]
    assert [s.name for s in found if s.by == "label"] == [f"{n} to {n + 1}" for n in range(5)]
    for by in ("phenomenon", "word overlap", "length", "negation", "label"):
        assert sum(s.n for s in found if s.by == by) == 200
    swap = next(s for s in found if s.name == "role swap")
    own = np.array(tags) == "role swap"
    assert swap.n == own.sum() and swap.bi == pytest.approx(bi[own].mean())
    assert swap.difference == pytest.approx(bi[own].mean() - cross[own].mean())
    assert swap.low < swap.difference < swap.high
    json.dumps([asdict(s) for s in found], allow_nan=False)


def test_numbers_in_names_are_ordered_as_numbers():
    rows = [pair(" ".join(["w"] * count), "w") for count in (30, 7, 15, 2)]
    names = [s.name for s in slices(groups(rows, STS), np.ones(4), np.zeros(4)) if s.by == "length"]
    assert names == ["0 to 5 words", "6 to 10 words", "11 to 20 words", "21 words or more"]


def test_rows_without_tags_and_single_texts_have_fewer_properties():
    rows = [Sentence(str(n), "a text", n % 5) for n in range(10)]
    found = slices(groups(rows, SST), np.ones(10), np.zeros(10))
    assert {s.by for s in found} == {"all", "length", "negation", "label"}
    assert [s.name for s in found if s.by == "label"] == ["0", "1", "2", "3", "4"]
    binary = [replace(PAIR, label=1.0)]
    found = slices(groups(binary, PARA), np.ones(1), np.ones(1))
    assert [s.name for s in found if s.by == "label"] == ["1"]


def test_an_interval_is_scipys_paired_one():
    first, second = DRAW.uniform(size=60), DRAW.uniform(size=60)
    expected = bootstrap(
        (first, second), lambda a, b, axis=-1: a.mean(axis=axis) - b.mean(axis=axis), paired=True,
        n_resamples=20_000, random_state=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    found = paired_interval(first, second)
    assert found == pytest.approx((expected.low, expected.high), abs=0.01)
    assert found == paired_interval(first, second)  # the same draws every time


def test_of_many_rows_the_interval_is_the_normal_one_on_both_sides_of_the_border():
    first, second = DRAW.normal(0.2, 1, MOST_RESAMPLED + 1), DRAW.normal(size=MOST_RESAMPLED + 1)
    for rows in (slice(None), slice(1, None)):
        off = first[rows] - second[rows]
        reach = norm.ppf(0.975) * off.std(ddof=1) / len(off) ** 0.5
        expected = off.mean() - reach, off.mean() + reach
        assert paired_interval(first[rows], second[rows]) == pytest.approx(
            expected, abs=0.1 * reach
        )


def test_what_is_hard_for_both_does_not_widen_the_interval():
    hard, noise = DRAW.normal(0, 10, 100), DRAW.normal(0, 0.1, 100)
    low, high = paired_interval(hard + noise, hard)
    assert high - low < 0.1


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    hits = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        low, high = paired_interval(draw.exponential(size=40), draw.exponential(size=40))
        hits += low <= 0 <= high
    assert 0.90 <= hits / 200 <= 0.99


def test_nothing_is_promised_of_few_rows_or_of_rows_that_all_differ_alike():
    assert paired_interval(np.arange(FEWEST - 1.0), np.zeros(FEWEST - 1)) is None
    assert paired_interval(np.ones(50), np.zeros(50)) is None
    assert paired_interval(np.arange(FEWEST + 0.0), np.zeros(FEWEST)) is not None


@pytest.mark.parametrize(("bi", "cross"), [([1.0], [1.0, 2.0]), ([], [])])
def test_unequal_lengths_are_refused(bi, cross):
    with pytest.raises(ValueError, match="errors for"):
        slices(groups([PAIR], STS), np.array(bi), np.array(cross))
