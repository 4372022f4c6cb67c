"""Which array differs first, where and by how much; and what may not be read."""

import os

import numpy as np
import pytest
import torch

from assignment.compare import Suite, array_difference, difference, judge, read_arrays
from assignment.driver import _array


def suite(expected, mistakes=None) -> Suite:
    """A suite of the part "p" with cases a and b."""
    about = {
        "parts": [{"name": "p"}],
        "cases": [{"name": name, "part": "p"} for name in ("a", "b")],
        "mistakes": [{"name": name, "part": "p", "says": name} for name in mistakes or {}],
    }
    return Suite(about, expected, mistakes or {})


def written(folder, **cases):
    for name, arrays in cases.items():
        np.savez(folder / f"{name}.npz", **arrays)
    return folder


ONE, TWO, THREE = ({"x": np.full(3, value)} for value in (1.0, 2.0, 3.0))


def test_the_first_array_that_differs_is_named_with_place_and_size():
    expected = {"first": np.zeros((2, 3)), "second": np.ones(4)}
    found = {"first": np.zeros((2, 3)), "second": np.float32([1, 1.000001, 1.5, 3])}
    assert difference(expected, expected) == ""
    assert difference(expected, found) == (
        '"second" of shape (4,) differs in 2 of 4 numbers, first at [2]: 1.5, expected 1; '
        "the largest difference is 2"
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (np.zeros((3, 2)), "has shape (3, 2), expected (2, 3)"),
        (np.full((2, 3), np.nan), "is nan at [0, 0], expected 0"),
        (np.array(0.0), "has shape (), expected (2, 3)"),
    ],
)
def test_other_differences_in_words(found, words):
    assert array_difference(np.zeros((2, 3)), found) == words


def test_missing_and_surplus_arrays_are_named():
    assert difference({"x": ONE["x"]}, {}) == '"x" is missing'
    assert difference({}, {"y": ONE["x"]}) == '"y" is not expected'


def test_whole_numbers_and_floats_of_one_value_are_equal():
    assert array_difference(np.array([1, 0]), np.array([True, False])) == ""
    assert array_difference(np.float64([1, np.inf]), np.float32([1, np.inf])) == ""


def test_a_mistake_is_named_only_if_all_answers_are_its_own(tmp_path):
    mistakes = {"m": {"a": TWO, "b": TWO}, "n": {"a": TWO, "b": THREE}}
    both = suite({"a": ONE, "b": ONE}, mistakes)
    results = judge(both, written(tmp_path, a=TWO, b=THREE))
    assert [(r.passed, r.mistake) for r in results] == [(False, "n"), (False, "n")]
    results = judge(both, written(tmp_path, a=TWO, b=ONE))
    assert [(r.passed, r.mistake) for r in results] == [(False, None), (True, None)]


def test_of_two_causes_that_fit_what_was_answered_none_is_named(tmp_path):
    mistakes = {"m": {"a": TWO, "b": TWO}, "n": {"a": TWO, "b": THREE}}
    written(tmp_path, a=TWO)
    (tmp_path / "b.error.txt").write_text("NotImplementedError: p\n", encoding="utf-8")
    results = judge(suite({"a": ONE, "b": ONE}, mistakes), tmp_path)
    assert [r.mistake for r in results] == [None, None]
    assert results[1].reason == "raised NotImplementedError: p"


def test_two_mistakes_in_different_cases_are_both_named(tmp_path):
    mistakes = {"m": {"a": TWO, "b": ONE}, "n": {"a": ONE, "b": THREE}}
    results = judge(suite({"a": ONE, "b": ONE}, mistakes), written(tmp_path, a=TWO, b=THREE))
    assert [r.mistake for r in results] == ["m", "n"]


def test_the_cause_that_explains_more_cases_is_named(tmp_path):
    mistakes = {"m": {"a": TWO, "b": TWO}, "n": {"a": TWO, "b": ONE}}
    both = suite({"a": ONE, "b": ONE}, mistakes)
    assert [r.mistake for r in judge(both, written(tmp_path, a=TWO, b=TWO))] == ["m", "m"]
    assert [r.mistake for r in judge(both, written(tmp_path, a=TWO, b=ONE))] == ["n", None]


@pytest.mark.parametrize("answer", [0.5, np.float64(0.5), np.array(0.5), torch.tensor(0.5)])
def test_plain_numbers_are_answers_as_tensors_are(answer):
    assert array_difference(np.array(0.5, np.float32), _array("score", answer)) == ""


@pytest.mark.parametrize("answer", [None, "0.5", [0.5]])
def test_what_is_no_number_is_named(answer):
    with pytest.raises(TypeError, match='"score" is of type'):
        _array("score", answer)


def test_nothing_answered_is_nothing_passed(tmp_path):
    results = judge(suite({"a": ONE, "b": {}}), tmp_path)
    assert [(r.passed, r.reason) for r in results] == [(False, "no answer")] * 2


def test_links_and_pipes_are_no_answers(tmp_path):
    """Nor are bytes made to break their reader: test_grading.py has those."""
    np.savez(tmp_path / "other.npz", **ONE)
    (tmp_path / "a.npz").symlink_to(tmp_path / "other.npz")
    os.mkfifo(tmp_path / "b.npz")
    for name in ("a", "b"):
        with pytest.raises((ValueError, OSError)):
            read_arrays(tmp_path / f"{name}.npz")
    results = judge(suite({"a": ONE, "b": ONE}), tmp_path)
    assert not any(result.passed for result in results) and all(r.reason for r in results)
