"""A split's scores: all rows, unseen rows, phenomena, held-out thresholds, calibration."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from data.examples import Sentence, SentencePair
from data.overlap import Seen
from evaluation.clusters import alone
from evaluation.scoring import (
    at_thresholds,
    best_thresholds,
    calibration,
    in_both_orders,
    score_rows,
    score_split,
)


def test_rows_seen_in_training_are_counted_and_scored_apart():
    seen = Seen()
    seen.add_texts(["The kite flies."])
    rows = [
        Sentence("1", "the KITE flies", 1),
        Sentence("2", "A lamp.", 0),
        Sentence("3", "Two lamps.", 4),
    ]
    found = score_split("sst", rows, np.array([0, 0, 4]), seen)
    assert found["n"] == 3
    assert found["metrics"]["accuracy"] == pytest.approx(2 / 3)
    assert found["overlap"]["sentences"] == pytest.approx(1 / 3)
    assert found["overlap"]["n_rest"] == 2
    assert found["overlap"]["metrics_on_rest"]["accuracy"] == 1.0


def test_a_seen_half_of_a_pair_counts_but_is_not_a_seen_pair():
    seen = Seen()
    seen.add_pairs([("a kite", "a lamp")])
    rows = [SentencePair("1", "a kite", "a boat", 1.0), SentencePair("2", "a sea", "a sail", 0.0)]
    found = score_split("para", rows, np.array([0, 0]), seen)["overlap"]
    assert (found["sentences"], found["pairs"], found["n_rest"]) == (0.5, 0.0, 1)
    assert found["metrics_on_rest"]["accuracy"] == 1.0
    found = score_split("para", [SentencePair("1", "A lamp", "A kite", 1.0)], np.array([1]), seen)
    assert found["overlap"]["pairs"] == 1.0
    assert found["overlap"]["metrics_on_rest"] == {}


def test_rows_are_scored_by_their_phenomenon():
    tags = ("even", None)
    rows = [Sentence(f"x{i}", f"text {i}", i % 5, tags[i % 2]) for i in range(10)]
    scores = score_split("sst", rows, np.array([0, 0, 2, 0, 0, 0, 0, 0, 0, 0]), Seen())
    # rows 0 2 4 6 8 hold the classes 0 2 4 1 3: two are right; untagged rows do not count
    assert scores["phenomena"] == {"even": {"n": 5, "error": 0.6}}


def at_best(scored, labels, held_out, known):
    thresholds = best_thresholds(held_out, known)
    calls = {f"{m}_calls": (scored >= thresholds[m]).astype(float) for m in ("accuracy", "f1")}
    return at_thresholds("para", calls, thresholds, labels, alone(len(labels)))


def test_thresholds_are_chosen_on_held_out_pairs_only():
    held_out, known = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 0.0, 1.0, 1.0])
    scored = np.array([0.2, 0.24, 0.26, 0.9])
    for labels in (np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0])):
        found = at_best(scored, labels, held_out, known)
        called = scored >= 0.25
        assert found["n"] == 4
        assert found["accuracy"]["threshold"] == found["f1"]["threshold"] == 0.25
        assert found["accuracy"]["value"] == accuracy_score(labels, called)
        assert found["f1"]["value"] == f1_score(labels, called)
        interval = found["accuracy"]["interval"]
        assert interval["low"] <= found["accuracy"]["value"] <= interval["high"]


def test_held_out_pairs_of_one_label_call_all_rows_the_same():
    scored, labels = np.array([0.0, 0.3, 0.9, 1.0]), np.array([1.0, 1.0, 0.0, 1.0])
    for known, accuracy in ((0.0, 0.25), (1.0, 0.75)):
        block = at_best(scored, labels, np.array([0.2, 0.7]), np.full(2, known))
        assert block["accuracy"]["value"] == accuracy
        json.dumps(block, allow_nan=False)


def pairs_of(labels):
    return [SentencePair(f"{i}", f"a {i}", f"b {i}", label) for i, label in enumerate(labels)]


def test_a_cell_has_what_is_known_of_its_rows():
    """Each number against scikit-learn and SciPy; what is not known of the rows is left out."""
    draw = np.random.default_rng(3)
    labels = (np.arange(40) % 2).astype(float)
    soft = (labels * 0.2 + draw.random(40) * 0.8).round(2)
    rows = {"predictions": (soft > 0.5).astype(float), "soft": soft}
    bare = score_rows("para", pairs_of(labels), rows, Seen())
    assert bare["metrics"]["average_precision"] == average_precision_score(labels, soft)
    assert bare["metrics"]["accuracy"] == accuracy_score(labels, soft > 0.5)
    assert bare["calibration"]["ece"] > 0
    assert not bare.keys() & {"threshold", "both_orders", "before", "cls_cosine"}
    thresholds = {"n": 7, "accuracy": 0.4, "f1": 0.3, "cosine": 0.8}
    # Half of the rows are called by another threshold, as in folds: only calls are scored.
    calls = soft >= np.where(np.arange(40) < 20, 0.4, 0.6)
    rows |= {"accuracy_calls": calls.astype(float), "f1_calls": (soft >= 0.3).astype(float)}
    rows |= {"before": 1 - labels, "swapped": soft[::-1]}
    full = score_rows("para", pairs_of(labels), rows, Seen(), thresholds)
    assert full["threshold"]["accuracy"]["value"] == accuracy_score(labels, calls)
    assert full["threshold"]["f1"]["value"] == f1_score(labels, soft >= 0.3)
    assert (full["threshold"]["cosine"], full["threshold"]["n"]) == (0.8, 7)
    assert full["before"]["accuracy"] == 0
    assert full["both_orders"]["gap"] == pytest.approx(np.abs(soft - soft[::-1]).mean())
    # In folds there may be a threshold for each of them and none of a head for all rows.
    assert score_rows("para", pairs_of(labels), rows, Seen(), {"cosine": 0.8})["threshold"] == {
        "cosine": 0.8
    }
    scores, cosines = draw.random(40) * 5, draw.random(40)
    rows = {"predictions": scores, "soft": scores, "cosines": cosines, "cls_cosines": -cosines}
    gold = draw.random(40) * 5
    found = score_rows("sts", pairs_of(gold), rows, Seen())
    assert found["metrics"]["cosine_spearman"] == pytest.approx(spearmanr(cosines, gold)[0])
    assert found["cls_cosine"] == pytest.approx(spearmanr(-cosines, gold)[0])
    assert "calibration" not in found


def test_without_a_positive_row_there_is_no_average_precision():
    rows = {"predictions": np.zeros(3), "soft": np.full(3, 0.2)}
    found = score_rows("para", pairs_of([0.0] * 3), rows, Seen())
    assert found["metrics"]["average_precision"] is None


def test_calibration_is_worked_by_hand():
    # Confidences 0.9, 0.9, 0.6, 0.9: three in one bin, of which two are right; one alone, wrong.
    probabilities, labels = np.array([0.9, 0.9, 0.6, 0.1]), np.array([1.0, 0.0, 0.0, 0.0])
    found = calibration(probabilities, labels)
    assert [one["n"] for one in found["bins"]] == [1, 3]
    assert [one["confidence"] for one in found["bins"]] == pytest.approx([0.6, 0.9])
    assert [one["accuracy"] for one in found["bins"]] == pytest.approx([0, 2 / 3])
    assert found["ece"] == pytest.approx((0.6 + 3 * (0.9 - 2 / 3)) / 4)


def test_calibration_of_classes_is_guos_definition():
    """Equation 3, bin by bin; a bin holds its upper edge."""
    draw = np.random.default_rng(0)
    probabilities = draw.dirichlet(np.full(5, 0.4), 500)
    labels = draw.integers(0, 5, 500)
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    expected = 0.0
    for low in range(15):
        inside = (confidence > low / 15) & (confidence <= (low + 1) / 15)
        if inside.any():
            expected += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    block = calibration(probabilities, labels)
    assert block["ece"] == pytest.approx(expected)
    assert sum(one["n"] for one in block["bins"]) == 500
    same = calibration(np.ones(4), np.ones(4))
    assert [one["n"] for one in same["bins"]] == [4]


def test_both_orders_are_averaged_and_their_gap_measured():
    labels = np.array([1.0, 0.0, 1.0, 0.0])
    found = in_both_orders(
        "para", np.array([0.6, 0.4, 0.2, 0.1]), np.array([0.8, 0.7, 0.4, 0.1]), labels, alone(4)
    )
    assert found["gap"] == pytest.approx((0.2 + 0.3 + 0.2 + 0) / 4)
    assert found["changed"] == 0.25  # the second row alone
    assert found["metrics"]["accuracy"] == 0.5  # called: 0.7, 0.55, 0.3, 0.1
    forward = np.array([[0.6, 0.4, 0, 0, 0], [0, 0.1, 0.9, 0, 0]])
    swapped = np.array([[0.1, 0.9, 0, 0, 0], [0, 0.3, 0.7, 0, 0]])
    found = in_both_orders("sst", forward, swapped, np.array([1.0, 2.0]), alone(2))
    assert (found["metrics"]["accuracy"], found["changed"]) == (1.0, 0.5)
    forward, swapped = np.array([1.0, 2.0, 5.0]), np.array([2.0, 2.0, 3.0])
    found = in_both_orders("sts", forward, swapped, np.array([0.0, 1.0, 2.0]), alone(3))
    assert (found["gap"], found["changed"]) == (1.0, None)
    expected = np.corrcoef([1.5, 2.0, 4.0], [0.0, 1.0, 2.0])[0, 1]
    assert found["metrics"]["pearson"] == pytest.approx(expected)
