"""SentEval's protocol: folds, the penalty chosen inside the training part, deterministic."""

import threading

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict

from evaluation.suites import transfer
from evaluation.suites.transfer import cross_validated, pair_vectors, transfer_metrics, with_split

RANDOM = np.random.default_rng(3)


def draw(count: int, classes: int = 2, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(count) % classes
    centres = np.eye(classes, 6)[labels]
    return (centres + noise * RANDOM.normal(size=(count, 6))).astype(np.float32), labels


def grid(folds: int, solver: str = "newton-cholesky") -> GridSearchCV:
    splitter = StratifiedKFold(folds, shuffle=True, random_state=transfer.SEED)
    model = LogisticRegression(solver=solver, max_iter=transfer.MOST_STEPS)
    return GridSearchCV(model, {"C": transfer.GRID}, cv=splitter)


@pytest.mark.parametrize("classes", [2, 3])
def test_cross_validation_is_nested_as_scikit_learn_nests_it(classes, monkeypatch):
    monkeypatch.setattr(transfer, "FOLDS", 3)
    vectors, labels = draw(90, classes)
    outer = StratifiedKFold(3, shuffle=True, random_state=transfer.SEED)
    solver = "newton-cholesky" if classes == 2 else "lbfgs"
    expected = cross_val_predict(grid(3, solver), vectors, labels, cv=outer)
    assert (cross_validated(vectors, labels) == expected).all()


def test_with_a_split_the_penalty_comes_from_the_training_rows(monkeypatch):
    monkeypatch.setattr(transfer, "FOLDS", 4)
    (train, labels), (test, _) = draw(80), draw(40)
    expected = grid(4).fit(train, labels).predict(test)
    assert (with_split(train, labels, test) == expected).all()


def test_with_dev_rows_the_penalty_is_the_best_on_them():
    (train, labels), (dev, dev_labels), (test, _) = draw(60), draw(60), draw(200)
    models = [
        LogisticRegression(C=c, solver="newton-cholesky").fit(train, labels) for c in transfer.GRID
    ]
    best = max(models, key=lambda model: model.score(dev, dev_labels))
    assert (with_split(train, labels, test, dev, dev_labels) == best.predict(test)).all()


def test_sparse_vectors_give_the_numbers_of_dense_ones():
    (first, labels), (second, _) = draw(40), draw(40)
    dense = pair_vectors(first, second)
    sparse = pair_vectors(csr_matrix(first), csr_matrix(second))
    assert np.allclose(sparse.toarray(), dense)
    assert np.allclose(dense, np.hstack([abs(first - second), first * second]))
    assert (with_split(dense, labels, dense) == with_split(sparse, labels, sparse)).all()


def test_vectors_that_say_nothing_predict_the_majority_class(monkeypatch):
    monkeypatch.setattr(transfer, "FOLDS", 3)
    labels = np.array([0] * 15 + [1] * 10)
    assert (cross_validated(np.zeros((25, 1), np.float32), labels) == 0).all()


def test_f1_is_of_two_classes():
    assert transfer_metrics(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1])) == {
        "accuracy": 0.5,
        "f1": 0.5,
    }
    assert set(transfer_metrics(np.array([2, 1]), np.array([2, 0]))) == {"accuracy"}


def test_no_more_fits_at_a_time_than_threads_are_allowed(monkeypatch):
    fitted, names = transfer._fitted, set()

    def noted(*arguments):
        names.add(threading.current_thread().name)
        return fitted(*arguments)

    monkeypatch.setattr(transfer, "_fitted", noted)
    monkeypatch.setattr(transfer, "FOLDS", 3)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    rng = np.random.default_rng(0)
    transfer.cross_validated(rng.normal(size=(60, 3)), rng.integers(0, 2, 60))
    assert len(names) == 1
