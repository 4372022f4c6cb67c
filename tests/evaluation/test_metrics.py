"""Metrics equal scikit-learn's and scipy's; what is undefined is None, never NaN."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from data.tasks import TASKS
from evaluation.metrics import METRICS, row_errors, task_metrics

RANDOM = np.random.default_rng(0)


def test_sentiment_metrics_equal_scikit_learn():
    gold, found = RANDOM.integers(0, 5, 200), RANDOM.integers(0, 5, 200)
    metrics = task_metrics("sst", found, gold)
    assert metrics["accuracy"] == accuracy_score(gold, found)
    assert metrics["f1"] == f1_score(gold, found, average="macro")
    assert metrics["f1_weighted"] == f1_score(gold, found, average="weighted")
    assert metrics["pearson"] is None and metrics["spearman"] is None


def test_paraphrase_metrics_are_accuracy_and_binary_f1():
    gold, found = RANDOM.integers(0, 2, 200), RANDOM.integers(0, 2, 200)
    metrics = task_metrics("para", found, gold)
    assert metrics["accuracy"] == accuracy_score(gold, found)
    assert metrics["f1"] == f1_score(gold, found)


def test_similarity_metrics_equal_scipy_with_ties():
    gold, found = RANDOM.integers(0, 6, 200) / 1.0, RANDOM.normal(size=200).round(1)
    metrics = task_metrics("sts", found, gold)
    assert metrics["pearson"] == pytest.approx(pearsonr(gold, found)[0], abs=1e-12)
    assert metrics["spearman"] == pytest.approx(spearmanr(gold, found)[0], abs=1e-12)


@pytest.mark.parametrize(
    "predictions",
    [
        np.full(9, 2.5),
        2.5 + 1e-8 * np.arange(9),
        np.full(9, np.nan),
        np.array([1.0, np.inf] + [0] * 7),
    ],
)
def test_correlation_of_constant_or_broken_predictions_is_undefined(predictions, recwarn):
    metrics = task_metrics("sts", predictions, np.arange(9.0))
    assert metrics == dict.fromkeys(METRICS)
    assert not recwarn.list


def test_never_predicting_the_positive_class_gives_f1_zero(recwarn):
    assert task_metrics("para", np.zeros(4), np.array([0, 1, 1, 0]))["f1"] == 0.0
    assert not recwarn.list


@pytest.mark.parametrize(("found", "gold"), [([], []), ([1.0], [1.0, 2.0])])
def test_no_rows_or_unequal_lengths_are_refused(found, gold):
    with pytest.raises(ValueError, match="predictions for"):
        task_metrics("sts", np.array(found), np.array(gold))


@pytest.mark.parametrize("noise", [0.0, 1e-8])
def test_correlation_with_constant_labels_is_undefined(noise, recwarn):
    labels = 3.0 + noise * np.arange(9)
    assert task_metrics("sts", np.arange(9.0), labels) == dict.fromkeys(METRICS)
    assert not recwarn.list


def test_a_narrow_but_real_ranking_is_not_taken_for_noise():
    metrics = task_metrics("sts", 2.5 + 1e-4 * np.arange(9), np.arange(9.0))
    assert metrics["pearson"] == pytest.approx(1.0)
    assert metrics["spearman"] == pytest.approx(1.0)


def test_one_row_has_no_correlation():
    assert task_metrics("sts", np.array([1.0]), np.array([2.0]))["spearman"] is None


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_the_metrics_of_its_record_and_no_others(task):
    gold = np.arange(40) % (TASKS[task].largest + 1)
    found = task_metrics(task, gold, gold)
    assert tuple(name for name in METRICS if found[name] is not None) == TASKS[task].metrics
    assert found[TASKS[task].main_metric] == pytest.approx(1.0)
    assert ("f1_weighted" in found) == (TASKS[task].kind == "classes")


def test_a_new_task_is_scored_by_its_record(monkeypatch):
    metrics = ("accuracy", "pearson")
    monkeypatch.setitem(TASKS, "new", replace(TASKS["para"], name="new", metrics=metrics))
    found = task_metrics("new", np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    assert found["accuracy"] == 0.75 and found["pearson"] is not None
    assert found["f1"] is None and found["spearman"] is None


def test_a_rows_error_is_a_miss_of_a_class_or_a_distance_from_a_score():
    found, gold = np.array([1.0, 4.0, 0.0]), np.array([1.0, 2.5, 1.0])
    assert row_errors("sst", found, gold).tolist() == [0.0, 1.0, 1.0]
    assert row_errors("para", found, gold).tolist() == [0.0, 1.0, 1.0]
    assert row_errors("sts", found, gold).tolist() == [0.0, 1.5, 1.0]
