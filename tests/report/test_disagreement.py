"""Disagreements to read: which rows, in which order, and what is said of each."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from data.examples import SentencePair
from data.tasks import TASKS
from report.disagreement import disagreements

STS, PARA = TASKS["sts"], TASKS["para"]


def pairs(*labels) -> list[SentencePair]:
    return [SentencePair(str(n), f"a{n}", f"b{n}", label) for n, label in enumerate(labels)]


def told(found) -> list[tuple[str, str]]:
    return [(one.ahead, one.id) for one in found]


def test_sure_and_right_against_sure_and_wrong_comes_first():
    rows = pairs(1.0, 1.0, 0.0, 1.0, 0.0)
    bi = np.array([0.9, 0.6, 0.9, 0.9, 0.5])
    cross = np.array([0.2, 0.4, 0.1, 0.8, 0.9])
    found = disagreements(rows, bi, cross, PARA)
    # Row 3 has both right; in row 4 the bi-encoder is right with its half.
    assert told(found) == [("bi", "0"), ("bi", "4"), ("bi", "1"), ("cross", "2")]
    first, last = found[0], found[-1]
    assert (first.bi, first.cross, first.label) == (1.0, 0.0, 1.0)
    assert (first.bi_confidence, first.cross_confidence) == (0.9, 0.8)
    assert first.gap == pytest.approx(0.7) and last.gap == pytest.approx(0.8)
    assert first.texts == ("a0", "b0")


def test_scores_are_ordered_by_squared_errors():
    rows = [replace(pair, phenomenon="passive") for pair in pairs(0.0, 5.0, 3.0, 2.0)]
    bi, cross = np.array([3.0, 5.0, 3.0, 1.0]), np.array([0.0, 3.0, 3.0, 5.0])
    found = disagreements(rows, bi, cross, STS)
    assert told(found) == [("bi", "3"), ("bi", "1"), ("cross", "0")]  # row 2 is the same to both
    assert [one.gap for one in found] == [8.0, 4.0, 9.0]
    assert found[0].bi_confidence is None and found[0].phenomenon == "passive"


def test_classes_are_judged_by_the_probability_of_the_gold_class():
    task = replace(PARA, kind="classes", largest=2)
    bi = np.array([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]])
    cross = np.array([[0.3, 0.6, 0.1], [0.1, 0.8, 0.1]])
    found = disagreements(pairs(2.0, 1.0), bi, cross, task)
    assert told(found) == [("bi", "0"), ("cross", "1")]
    assert found[0].gap == pytest.approx(0.6) and (found[0].bi, found[0].cross) == (2, 1)
    assert (found[1].bi_confidence, found[1].cross_confidence) == (0.5, 0.8)


def test_exchanged_encoders_exchange_the_sides():
    draw = np.random.default_rng(0)
    rows = pairs(*draw.integers(0, 2, 300).astype(float))
    one, other = draw.uniform(size=300), draw.uniform(size=300)
    found, turned = disagreements(rows, one, other, PARA), disagreements(rows, other, one, PARA)
    assert len(found) == 20
    assert [(d.id, d.gap) for d in found[:10]] == [(d.id, d.gap) for d in turned[10:]]
    assert {d.ahead for d in found[:10]} == {"bi"} and {d.ahead for d in found[10:]} == {"cross"}


def test_few_are_asked_for_and_ties_keep_their_order():
    rows = pairs(*[1.0] * 9)
    found = disagreements(rows, np.ones(9), np.zeros(9), PARA, most=3)
    assert told(found) == [("bi", "0"), ("bi", "1"), ("bi", "2")]
    assert disagreements(rows, np.ones(9), np.ones(9), PARA) == []
    json.dumps([asdict(one) for one in found], allow_nan=False)


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="2 and 1 predictions for 2 examples"):
        disagreements(pairs(0.0, 1.0), np.zeros(2), np.zeros(1), PARA)
