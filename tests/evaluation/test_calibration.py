"""Thresholds come from held-out pairs alone; calibration is that of Guo et al."""

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from evaluation.calibration import at_threshold, calibration, in_both_orders


def test_thresholds_are_chosen_on_held_out_pairs_only():
    held_out, known = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 0.0, 1.0, 1.0])
    scored = np.array([0.2, 0.24, 0.26, 0.9])
    for labels in (np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0])):
        found = at_threshold("para", scored, labels, held_out, known)
        called = scored >= 0.25
        assert found["n"] == 4
        assert found["accuracy"]["threshold"] == found["f1"]["threshold"] == 0.25
        assert found["accuracy"]["value"] == accuracy_score(labels, called)
        assert found["f1"]["value"] == f1_score(labels, called)
        interval = found["accuracy"]["interval"]
        assert interval["low"] <= found["accuracy"]["value"] <= interval["high"]


@pytest.mark.parametrize(("known", "accuracy"), [(0.0, 0.25), (1.0, 0.75)])
def test_held_out_pairs_of_one_label_call_all_rows_the_same(known, accuracy):
    scored, labels = np.array([0.0, 0.3, 0.9, 1.0]), np.array([1.0, 1.0, 0.0, 1.0])
    found = at_threshold("para", scored, labels, np.array([0.2, 0.7]), np.full(2, known))
    assert found["accuracy"]["value"] == accuracy
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_calibration_is_worked_by_hand():
    # Confidences 0.9, 0.9, 0.6, 0.9: three in one bin, of which two are right; one alone, wrong.
    probabilities, labels = np.array([0.9, 0.9, 0.6, 0.1]), np.array([1.0, 0.0, 0.0, 0.0])
    found = calibration(probabilities, labels)
    assert [one["n"] for one in found["bins"]] == [1, 3]
    assert [one["confidence"] for one in found["bins"]] == pytest.approx([0.6, 0.9])
    assert [one["accuracy"] for one in found["bins"]] == pytest.approx([0, 2 / 3])
    assert found["ece"] == pytest.approx((0.6 + 3 * (0.9 - 2 / 3)) / 4)


def slow_ece(confidence, right, bins=15) -> float:
    """Return Guo et al.'s equation 3, bin by bin; a bin holds its upper edge."""
    total = 0.0
    for low in range(bins):
        inside = (confidence > low / bins) & (confidence <= (low + 1) / bins)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return total


def test_calibration_of_classes_is_guos_definition():
    draw = np.random.default_rng(0)
    probabilities = draw.dirichlet(np.full(5, 0.4), 500)
    labels = draw.integers(0, 5, 500)
    right = probabilities.argmax(axis=1) == labels
    found = calibration(probabilities, labels)
    assert found["ece"] == pytest.approx(slow_ece(probabilities.max(axis=1), right))
    assert sum(one["n"] for one in found["bins"]) == 500


def test_a_calibrated_head_has_almost_no_error_and_a_boastful_one_much():
    draw = np.random.default_rng(1)
    probabilities = draw.random(20_000)
    labels = (draw.random(20_000) < probabilities).astype(float)
    assert calibration(probabilities, labels)["ece"] < 0.01
    boastful = np.where(probabilities > 0.5, 0.999, 0.001)
    assert calibration(boastful, labels)["ece"] == pytest.approx(0.249, abs=0.01)


@pytest.mark.parametrize("probabilities", [np.ones(4), np.zeros(4), np.full(4, 0.5)])
def test_one_probability_for_all_is_no_error(probabilities, recwarn):
    found = calibration(probabilities, np.ones(4))
    assert len(found["bins"]) == 1 and found["bins"][0]["n"] == 4
    assert not recwarn.list


def test_both_orders_are_averaged_and_their_gap_measured():
    labels = np.array([1.0, 0.0, 1.0, 0.0])
    found = in_both_orders(
        "para", np.array([0.6, 0.4, 0.2, 0.1]), np.array([0.8, 0.7, 0.4, 0.1]), labels
    )
    assert found["gap"] == pytest.approx((0.2 + 0.3 + 0.2 + 0) / 4)
    assert found["changed"] == 0.25  # the second row alone
    assert found["metrics"]["accuracy"] == 0.5  # called: 0.7, 0.55, 0.3, 0.1


def test_both_orders_of_classes_are_called_by_their_mean():
    forward = np.array([[0.6, 0.4, 0, 0, 0], [0, 0.1, 0.9, 0, 0]])
    swapped = np.array([[0.1, 0.9, 0, 0, 0], [0, 0.3, 0.7, 0, 0]])
    found = in_both_orders("sst", forward, swapped, np.array([1.0, 2.0]))
    assert (found["metrics"]["accuracy"], found["changed"]) == (1.0, 0.5)


def test_both_orders_of_scores_have_a_gap_in_points():
    forward, swapped = np.array([1.0, 2.0, 5.0]), np.array([2.0, 2.0, 3.0])
    found = in_both_orders("sts", forward, swapped, np.array([0.0, 1.0, 2.0]))
    assert (found["gap"], found["changed"]) == (1.0, None)
    expected = np.corrcoef([1.5, 2.0, 4.0], [0.0, 1.0, 2.0])[0, 1]
    assert found["metrics"]["pearson"] == pytest.approx(expected)
    assert in_both_orders("sts", forward, forward, np.arange(3.0))["gap"] == 0.0
