"""Drift: CKA against its definition by kernels, and by what it must not depend on."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from evaluation.drift import linear_cka, weight_drift

DRAW = np.random.default_rng(0)
X, Y = DRAW.normal(size=(40, 6)) + 3, DRAW.normal(size=(40, 9))


def by_kernels(x, y):
    """HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) of Gram matrices: Kornblith et al., section 3."""
    centre = np.eye(len(x)) - 1 / len(x)
    k, m = (centre @ side @ side.T @ centre for side in (x, y))
    return np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))


def test_cka_is_that_of_the_gram_matrices():
    assert linear_cka(X, Y) == pytest.approx(by_kernels(X, Y))
    assert linear_cka(X, X @ Y[:6]) == pytest.approx(by_kernels(X, X @ Y[:6]))


def test_cka_ignores_rotation_scale_and_shift_and_nothing_else():
    rotation = ortho_group.rvs(6, random_state=1)
    assert linear_cka(X, 5 * X @ rotation + 2) == pytest.approx(1)
    assert linear_cka(X, X * np.array([1, 1, 1, 9, 9, 9])) < 0.9
    assert 0 <= linear_cka(X, Y) < 0.5
    assert np.isnan(linear_cka(X, np.ones((40, 2))))


def test_weight_drift_is_relative_and_by_layer():
    before = {
        "embeddings.word_embeddings.weight": np.array([[3.0, 4.0]], np.float32),
        "encoder.layer.0.output.dense.weight": np.array([[3.0]], np.float32),
        "encoder.layer.0.output.dense.bias": np.array([4.0], np.float32),
        "encoder.layer.11.output.dense.bias": np.array([2.0], np.float32),
    }
    after = {name: tensor.copy() for name, tensor in before.items()}
    after["encoder.layer.0.output.dense.bias"] += 1
    after["encoder.layer.11.output.dense.bias"] *= 2
    expected = {"embeddings": 0.0, "layer 1": 1 / 5, "layer 12": 1.0}
    assert weight_drift(before, after) == pytest.approx(expected)
