"""Thresholds never split equal similarities; both conventions equal what others compute."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from evaluation.pair_classification import accuracies, best_threshold, f1_scores, pair_metrics

RANDOM = np.random.default_rng(1)


def draw(count: int, decimals: int = 12) -> tuple[np.ndarray, np.ndarray]:
    labels = RANDOM.integers(0, 2, count).astype(float)
    return (labels + RANDOM.normal(size=count)).round(decimals), labels


@pytest.mark.parametrize("decimals", [12, 1])
def test_every_threshold_has_the_score_of_scikit_learn(decimals):
    similarities, labels = draw(80, decimals)
    for counted, score in ((accuracies, accuracy_score), (f1_scores, f1_score)):
        distinct, values = counted(similarities, labels)
        assert len(values) == len(distinct) + 1
        for threshold, value in zip([*distinct, np.inf], values, strict=True):
            assert value == pytest.approx(score(labels, similarities >= threshold))


def test_best_metrics_equal_those_of_sentence_transformers():
    evaluation = pytest.importorskip("sentence_transformers.evaluation")
    evaluator = evaluation.BinaryClassificationEvaluator
    similarities, labels = draw(200)
    accuracy, _ = evaluator.find_best_acc_and_threshold(similarities, labels, True)
    f1, *_ = evaluator.find_best_f1_and_threshold(similarities, labels, True)
    metrics = pair_metrics(similarities, labels)
    assert metrics["accuracy_best"] == pytest.approx(accuracy)
    assert metrics["f1_best"] == pytest.approx(f1)
    assert metrics["average_precision"] == average_precision_score(labels, similarities)
    assert metrics["accuracy_train"] is None and metrics["f1_train"] is None


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_the_threshold_of_training_pairs_is_used_as_it_is(metric):
    train, test = draw(300), draw(100)
    threshold = best_threshold(*train, metric)
    score = {"accuracy": accuracy_score, "f1": f1_score}[metric]
    highest = max(score(train[1], train[0] >= t) for t in [*train[0], np.inf])
    assert score(train[1], train[0] >= threshold) == pytest.approx(highest)
    found = pair_metrics(*test, *train)
    assert found[f"{metric}_train"] == pytest.approx(score(test[1], test[0] >= threshold))
    assert found[f"{metric}_train"] <= found[f"{metric}_best"]


def test_the_threshold_lies_between_two_similarities():
    assert best_threshold(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 1]), "accuracy") == 0.4


def test_a_constant_gives_no_perfect_score():
    """Tied similarities in the order of their labels have misled others."""
    metrics = pair_metrics(np.full(10, 0.5), np.array([1.0] * 4 + [0.0] * 6))
    assert metrics["accuracy_best"] == 0.6
    assert metrics["average_precision"] == pytest.approx(0.4)
    assert metrics["f1_best"] == pytest.approx(f1_score([1] * 4 + [0] * 6, [1] * 10))


def test_all_or_nothing_is_a_threshold_too():
    assert best_threshold(np.array([0.3, 0.4]), np.array([1, 1]), "accuracy") == -np.inf
    assert best_threshold(np.array([0.3, 0.4]), np.array([0, 0]), "accuracy") > 0.4


def test_pairs_of_one_class_have_no_average_precision():
    assert pair_metrics(np.array([0.3, 0.4]), np.array([1.0, 1.0]))["average_precision"] is None
