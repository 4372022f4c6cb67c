"""Ordered classes: a confusion counted by hand, and its distances as a double loop has them."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, mean_absolute_error

from evaluation.ordinal import confusion


def test_known_rows():
    found = confusion(np.array([0, 1, 4, 2]), np.array([0, 0, 0, 2]), 5)
    assert found.matrix == [[1, 1, 0, 0, 1], [0] * 5, [0, 0, 1, 0, 0], [0] * 5, [0] * 5]
    assert (found.n, found.accuracy, found.within_one) == (4, 0.5, 0.75)
    assert found.mean_absolute_error == 5 / 4
    assert json.loads(json.dumps(asdict(found)))["matrix"] == found.matrix


def test_random_rows_equal_scikit_learn_and_a_double_loop():
    draw = np.random.default_rng(0)
    gold, guess = draw.integers(0, 5, 400), draw.integers(0, 5, 400).astype(float)
    found = confusion(guess, gold, 5)
    assert found.matrix == confusion_matrix(gold, guess).tolist()
    assert found.accuracy == accuracy_score(gold, guess)
    assert found.mean_absolute_error == mean_absolute_error(gold, guess)
    near = sum(found.matrix[g][p] for g in range(5) for p in range(5) if abs(g - p) <= 1)
    assert found.within_one == near / 400


@pytest.mark.parametrize(
    ("guess", "gold"), [([5], [0]), ([0], [-1]), ([0.5], [0]), ([], []), ([0, 1], [0])]
)
def test_rows_that_are_no_classes_are_refused(guess, gold):
    with pytest.raises(ValueError):
        confusion(np.array(guess), np.array(gold), 5)
