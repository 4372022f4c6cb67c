"""Transfer tasks: a logistic regression on frozen embeddings, as SentEval trains it.

Conneau & Kiela 2018: 10-fold cross-validation if a set has no published split. The strength of the
L2 penalty is chosen on the training part. Deterministic, on the CPU.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from baselines.embedder import Embedder, Vectors
from data.examples import DataError, SentencePair
from data.suites import read_transfer_set
from data.tasks import TASKS
from evaluation.intervals import weighted_metric
from evaluation.metrics import labels_of
from evaluation.suites.measured import LoadedSet, Model, in_first, of_splits, results_of, whole
from evaluation.suites.results import Result

Fold = tuple[np.ndarray, np.ndarray]  # training rows, held-out rows

FOLDS = 10
SEED = 1111  # SentEval's
# Inverse strengths of the penalty: SentEval's grid for its scikit-learn classifier.
GRID = tuple(2.0**power for power in range(-2, 4))
MOST_STEPS = 200  # of the optimizer, per fit
FEWEST_ROWS = 4  # training rows of each class: two folds in each of two folds


def read(folders: Sequence[Path], name: str) -> LoadedSet:
    return of_splits("transfer", name, in_first(read_transfer_set, folders, name))


def measure(model: Model, task: LoadedSet) -> list[Result]:
    """Return accuracy (and F1 of two classes) of a logistic regression on frozen vectors.

    Raises:
        DataError: folds of the training rows would lack a class.
    """
    if model.embedder.embed is None:
        return []
    learnt = task.train or task.scored
    classes = _classes(learnt)
    counts = dict(zip(*np.unique(classes, return_counts=True), strict=True))
    if len(counts) < 2 or min(counts.values()) < FEWEST_ROWS:
        shown = ", ".join(f"class {c}: {n}" for c, n in counts.items())
        raise DataError(
            f"{task.name}: training rows by class are {shown}; expected two or more classes of at "
            f"least {FEWEST_ROWS} rows"
        )
    train = _features(model.embedder, learnt)
    if not task.train:
        predictions = cross_validated(train, classes)
    else:
        dev: tuple[Any, ...] = ()
        if task.dev:
            dev = (_features(model.embedder, task.dev), _classes(task.dev))
        predictions = with_split(train, classes, _features(model.embedder, task.scored), *dev)
    labels = _classes(task.scored)
    accuracy = weighted_metric("accuracy", TASKS["sst"], predictions[None], labels)
    return results_of(
        model,
        task,
        lambda rows: whole(rows, transfer_metrics(predictions[rows], labels[rows])),
        measures={("", "accuracy"): accuracy},
    )


def _classes(examples: Sequence[Any]) -> np.ndarray:
    return labels_of(examples).astype(np.int64)


def _features(embedder: Embedder, examples: Sequence[Any]) -> Vectors:
    """Return the vectors of sentences, or SentEval's features of pairs."""
    assert embedder.embed is not None
    if isinstance(examples[0], SentencePair):
        sides = (embedder.embed([pair.texts[side] for pair in examples]) for side in (0, 1))
        return pair_vectors(*sides)
    return embedder.embed([example.text for example in examples])


# --- SentEval's protocol


def pair_vectors(first: Vectors, second: Vectors) -> Vectors:
    """Return [|u - v|; u * v], SentEval's features of a pair, (N, 2D)."""
    if isinstance(first, csr_matrix):
        return csr_matrix(hstack([abs(first - second), first.multiply(second)]))
    return np.hstack([np.abs(first - second), first * second])


def cross_validated(vectors: Vectors, labels: np.ndarray) -> np.ndarray:
    """Return predictions (N,) by 10-fold cross-validation; each fold chooses a penalty."""

    def predicted(fold: Fold) -> np.ndarray:
        train, test = fold
        inside, known = vectors[train], labels[train]
        accuracies = [_accuracies(inside, known, inner) for inner in _folds(known)]
        return np.asarray(_fitted(inside, known, _best(accuracies)).predict(vectors[test]))

    predictions = np.empty_like(labels)
    folds = _folds(labels)
    with _workers() as pool:
        for (_, test), held_out in zip(folds, pool.map(predicted, folds), strict=True):
            predictions[test] = held_out
    return predictions


def with_split(
    train: Vectors,
    train_labels: np.ndarray,
    test: Vectors,
    dev: Vectors | None = None,
    dev_labels: np.ndarray | None = None,
) -> np.ndarray:
    """Return predictions of the test rows.

    The penalty is chosen on the dev rows if there are some, else by cross-validation on the
    training rows; the final fit uses only the training rows, as in SentEval.
    """
    with _workers() as pool:
        if dev is None:
            folds = _folds(train_labels)
            rows = pool.map(lambda fold: _accuracies(train, train_labels, fold), folds)
            penalty = _best(list(rows))
        else:
            fits = pool.map(lambda penalty: _fitted(train, train_labels, penalty), GRID)
            penalty = _best([[fit.score(dev, dev_labels) for fit in fits]])
        return np.asarray(_fitted(train, train_labels, penalty).predict(test))


def transfer_metrics(predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return accuracy, and F1 (of class 1) for two classes."""
    metrics = {"accuracy": float(accuracy_score(labels, predictions))}
    if set(np.unique(labels).tolist()) <= {0, 1}:
        metrics["f1"] = float(f1_score(labels, predictions, zero_division=0))
    return metrics


def _folds(labels: np.ndarray) -> list[Fold]:
    # Fewer folds if a class has fewer rows, as in a small set.
    rarest = int(np.unique(labels, return_counts=True)[1].min())
    splitter = StratifiedKFold(max(2, min(FOLDS, rarest)), shuffle=True, random_state=SEED)
    return list(splitter.split(np.zeros(len(labels)), labels))


def _accuracies(vectors: Vectors, labels: np.ndarray, fold: Fold) -> list[float]:
    """Return the accuracy on a fold's held-out rows by each penalty."""
    train, test = fold
    inside, known = vectors[train], labels[train]
    held_out, right = vectors[test], labels[test]
    return [_fitted(inside, known, penalty).score(held_out, right) for penalty in GRID]


def _best(accuracies: list[list[float]]) -> float:
    """Return the penalty with the best mean accuracy over folds; of equal ones the strongest."""
    return GRID[int(np.argmax(np.mean(accuracies, axis=0)))]


def _fitted(vectors: Vectors, labels: np.ndarray, penalty: float) -> LogisticRegression:
    # Newton's method converges in a few steps, where gradient methods need thousands for vectors
    # that are not of unit length. Its Hessian is too large for a column per word, or for many
    # classes.
    dense = isinstance(vectors, np.ndarray)
    # The Hessian of nearly equal columns is singular in float32.
    vectors = np.asarray(vectors, np.float64) if dense else vectors
    solver = "newton-cholesky" if dense and len(np.unique(labels)) == 2 else "newton-cg"
    return LogisticRegression(C=penalty, solver=solver, max_iter=MOST_STEPS).fit(vectors, labels)


@contextmanager
def _workers() -> Iterator[ThreadPoolExecutor]:
    """Yield a pool with as many threads as PyTorch has (--threads); each fit uses one of them.

    The numbers are those of one thread: no product is split, so they do not depend on the cores.
    """
    with threadpool_limits(1), ThreadPoolExecutor(torch.get_num_threads()) as pool:
        yield pool
