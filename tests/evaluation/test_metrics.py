"""Metrics equal scikit-learn's and scipy's; what is undefined is None, never NaN."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from data.examples import Sentence
from data.tasks import TASKS
from evaluation.metrics import METRICS, is_labelled, row_errors, task_metrics

RANDOM = np.random.default_rng(0)


def test_metrics_equal_scikit_learn_and_scipy():
    gold, found = RANDOM.integers(0, 5, 200), RANDOM.integers(0, 5, 200)
    metrics = task_metrics("sst", found, gold)
    assert metrics["accuracy"] == accuracy_score(gold, found)
    assert metrics["f1"] == f1_score(gold, found, average="macro")
    assert metrics["f1_weighted"] == f1_score(gold, found, average="weighted")
    metrics = task_metrics("para", found % 2, gold % 2)
    assert metrics["accuracy"] == accuracy_score(gold % 2, found % 2)
    assert metrics["f1"] == f1_score(gold % 2, found % 2)
    ties = RANDOM.normal(size=200).round(1)
    metrics = task_metrics("sts", ties, gold)
    assert metrics["pearson"] == pytest.approx(pearsonr(gold, ties)[0], abs=1e-12)
    assert metrics["spearman"] == pytest.approx(spearmanr(gold, ties)[0], abs=1e-12)


@pytest.mark.parametrize(
    "constant",
    [np.full(9, 2.5), 2.5 + 1e-8 * np.arange(9), np.array([1.0, np.inf] + [0] * 7)],
)
def test_correlation_of_a_constant_or_broken_side_is_undefined(constant, recwarn):
    assert task_metrics("sts", constant, np.arange(9.0)) == dict.fromkeys(METRICS)
    assert task_metrics("sts", np.arange(9.0), constant) == dict.fromkeys(METRICS)
    assert not recwarn.list


def test_a_narrow_but_real_ranking_is_not_taken_for_noise():
    metrics = task_metrics("sts", 2.5 + 1e-4 * np.arange(9), np.arange(9.0))
    assert (metrics["pearson"], metrics["spearman"]) == pytest.approx((1.0, 1.0))
    assert task_metrics("sts", np.array([1.0]), np.array([2.0]))["spearman"] is None


def test_never_predicting_the_positive_class_gives_f1_zero(recwarn):
    assert task_metrics("para", np.zeros(4), np.array([0, 1, 1, 0]))["f1"] == 0.0
    assert not recwarn.list


@pytest.mark.parametrize(("found", "gold"), [([], []), ([1.0], [1.0, 2.0])])
def test_no_rows_or_unequal_lengths_are_refused(found, gold):
    with pytest.raises(ValueError, match="predictions for"):
        task_metrics("sts", np.array(found), np.array(gold))


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_the_metrics_of_its_record_and_no_others(task):
    gold = np.arange(40) % (TASKS[task].largest + 1)
    metrics = task_metrics(task, gold, gold)
    assert tuple(name for name in METRICS if metrics[name] is not None) == TASKS[task].metrics
    assert metrics[TASKS[task].main_metric] == pytest.approx(1.0)
    assert ("f1_weighted" in metrics) == (TASKS[task].label_kind == "classes")


def test_a_rows_error_is_a_miss_of_a_class_or_a_distance_from_a_score():
    found, gold = np.array([1.0, 4.0, 0.0]), np.array([1.0, 2.5, 1.0])
    assert row_errors("sst", found, gold).tolist() == [0.0, 1.0, 1.0]
    assert row_errors("para", found, gold).tolist() == [0.0, 1.0, 1.0]
    assert row_errors("sts", found, gold).tolist() == [0.0, 1.5, 1.0]


def test_examples_are_labelled_if_all_are():
    assert not is_labelled([])
    assert not is_labelled([Sentence("1", "x", 1), Sentence("2", "y")])
    assert is_labelled([Sentence("1", "x", 0)])
