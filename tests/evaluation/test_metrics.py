"""Metrics equal scikit-learn's and scipy's; what is undefined is None, never NaN."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from data.examples import Sentence
from data.tasks import TASKS
from evaluation.intervals import weighted_metric
from evaluation.metrics import (
    METRICS,
    best_threshold,
    is_labelled,
    row_errors,
    task_metrics,
    threshold_scores,
)

RANDOM = np.random.default_rng(0)
OTHERS = {
    "accuracy": accuracy_score,
    "f1": f1_score,
    "macro": partial(f1_score, average="macro"),
    "weighted": partial(f1_score, average="weighted"),
    "pearson": lambda gold, predictions: pearsonr(gold, predictions)[0],
    "spearman": lambda gold, predictions: spearmanr(gold, predictions)[0],
}


@pytest.mark.parametrize(
    ("task", "metric", "other"),
    [
        ("sst", "accuracy", "accuracy"),
        ("sst", "f1", "macro"),
        ("sst", "f1_weighted", "weighted"),
        ("classes", "accuracy", "accuracy"),
        ("classes", "f1", "macro"),
        ("para", "accuracy", "accuracy"),
        ("para", "f1", "f1"),
        ("sts", "pearson", "pearson"),
        ("sts", "spearman", "spearman"),
    ],
)
def test_metrics_equal_those_of_other_libraries(task, metric, other):
    gold, predictions = RANDOM.integers(0, TASKS[task].num_classes, (2, 200)).astype(float)
    if task == "sts":
        predictions = RANDOM.normal(size=200).round(1)  # with ties
    found = task_metrics(task, predictions, gold)
    assert found[metric] == pytest.approx(OTHERS[other](gold, predictions), abs=1e-12)
    # A task has the metrics of its record and no others.
    assert tuple(name for name in METRICS if found[name] is not None) == TASKS[task].metrics
    assert ("f1_weighted" in found) == (TASKS[task].label_kind == "classes")


def test_macro_f1_of_few_of_the_possible_classes_is_that_of_scikit_learn():
    gold, predictions = RANDOM.integers(0, 3, (2, 200)).astype(float)
    measure = weighted_metric("f1", TASKS["classes"], predictions[None], gold)
    expected = f1_score(gold, predictions, average="macro")
    assert measure(np.ones((1, 200))) == pytest.approx(expected, abs=1e-12)
    assert task_metrics("classes", predictions, gold)["f1"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("side", "value"),
    [
        (np.full(9, 2.5), None),
        (2.5 + 1e-8 * np.arange(9), None),  # constant up to float32's rounding
        (np.array([1.0, np.inf] + [0] * 7), None),
        (2.5 + 1e-4 * np.arange(9), pytest.approx(1.0)),  # narrow, but a ranking
    ],
)
def test_the_correlation_of_a_constant_or_broken_side_is_undefined(side, value, recwarn):
    expected = dict.fromkeys(METRICS) | {"pearson": value, "spearman": value}
    for sides in ((side, np.arange(9.0)), (np.arange(9.0), side)):
        assert task_metrics("sts", *sides) == expected
    assert task_metrics("sts", np.array([1.0]), np.array([2.0]))["spearman"] is None
    assert task_metrics("para", np.zeros(4), np.array([0, 1, 1, 0]))["f1"] == 0.0  # never called
    assert not recwarn.list


def test_no_rows_or_unequal_lengths_are_refused():
    for predictions, gold in (([], []), ([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match="predictions for"):
            task_metrics("sts", np.array(predictions), np.array(gold))


@pytest.mark.parametrize(
    ("task", "errors"), [("sst", [0, 1, 1]), ("para", [0, 1, 1]), ("sts", [0, 1.5, 1])]
)
def test_a_rows_error_is_a_miss_of_a_class_or_a_distance_from_a_score(task, errors):
    predictions, gold = np.array([1.0, 4.0, 0.0]), np.array([1.0, 2.5, 1.0])
    assert row_errors(task, predictions, gold).tolist() == errors


def test_examples_are_labelled_if_all_are():
    assert not is_labelled([])
    assert not is_labelled([Sentence("1", "x", 1), Sentence("2", "y")])
    assert is_labelled([Sentence("1", "x", 0)])


# --- thresholds on similarities


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_every_threshold_has_the_score_of_scikit_learn(metric):
    labels = RANDOM.integers(0, 2, 80).astype(float)
    similarities = (labels + RANDOM.normal(size=80)).round(1)  # with ties
    distinct, scores = threshold_scores(similarities, labels, metric)
    for threshold, score in zip([*distinct, np.inf], scores, strict=True):
        assert score == pytest.approx(OTHERS[metric](labels, similarities >= threshold))
    best = best_threshold(similarities, labels, metric)
    assert OTHERS[metric](labels, similarities >= best) == pytest.approx(scores.max())


@pytest.mark.parametrize(
    ("similarities", "labels", "threshold"),
    [
        ([0.1, 0.2, 0.6, 0.9], [0, 0, 1, 1], 0.4),
        ([0.3, 0.4], [1, 1], -np.inf),
        ([0.3, 0.4], [0, 0], np.inf),
    ],
)
def test_a_threshold_lies_between_two_similarities_or_beyond_all(similarities, labels, threshold):
    assert best_threshold(np.array(similarities), np.array(labels), "accuracy") == threshold
