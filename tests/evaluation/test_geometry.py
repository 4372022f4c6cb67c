"""Alignment and uniformity equal their authors' formulas; the rest, other libraries' values."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import ortho_group
from sklearn.metrics.pairwise import cosine_similarity

from data.examples import SentencePair
from evaluation import geometry as measures
from evaluation.geometry import (
    alignment,
    effective_rank,
    geometry,
    linear_cka,
    mean_cosine,
    pair_geometry,
    singular_values,
    uniformity,
    weight_drift,
)

RANDOM = np.random.default_rng(2)
FIRST, SECOND = RANDOM.normal(size=(70, 16)), RANDOM.normal(size=(70, 16)) + 0.3


def test_alignment_is_the_mean_squared_distance_of_unit_vectors():
    x, y = (F.normalize(torch.from_numpy(side), dim=1) for side in (FIRST, SECOND))
    assert alignment(FIRST, SECOND) == pytest.approx(((x - y).norm(dim=1) ** 2).mean().item())
    assert alignment(FIRST, FIRST * 3) == pytest.approx(0, abs=1e-12)
    assert alignment(FIRST, -FIRST) == pytest.approx(4)


@pytest.mark.parametrize("block", [1024, 7])
def test_uniformity_is_the_log_of_the_mean_potential(block, monkeypatch):
    monkeypatch.setattr(measures, "BLOCK", block)
    x = F.normalize(torch.from_numpy(FIRST), dim=1)
    expected = torch.pdist(x).pow(2).mul(-2).exp().mean().log().item()
    assert uniformity(FIRST) == pytest.approx(expected)
    assert uniformity(np.ones((5, 4))) == pytest.approx(0)


def test_the_mean_cosine_leaves_out_a_row_with_itself():
    cosines = cosine_similarity(SECOND)
    expected = cosines[~np.eye(len(SECOND), dtype=bool)].mean()
    assert mean_cosine(SECOND) == pytest.approx(expected)


def test_singular_values_and_their_rank():
    values = singular_values(FIRST)
    unit = FIRST / np.linalg.norm(FIRST, axis=1, keepdims=True)
    assert (values**2).sum() == pytest.approx((unit**2).sum())
    assert np.all(np.diff(values) <= 0)
    assert effective_rank(np.ones(8)) == pytest.approx(8)
    assert effective_rank(np.array([5.0, 0.0, 0.0])) == pytest.approx(1)


def test_vectors_of_zeros_are_left_out():
    zeros = np.zeros((30, 16))
    expected = geometry(FIRST, FIRST, SECOND)
    found = geometry(
        np.vstack([FIRST, zeros]), np.vstack([FIRST, zeros]), np.vstack([SECOND, zeros])
    )
    assert found == pytest.approx(expected)


def test_too_few_vectors_have_no_geometry():
    assert geometry(FIRST, FIRST[:0], FIRST[:0])["alignment"] is None
    assert set(geometry(FIRST[:1], FIRST[:0], FIRST[:0]).values()) == {None}
    assert set(geometry(np.zeros((5, 3)), FIRST[:0], FIRST[:0]).values()) == {None}


def test_pairs_above_a_score_of_four_are_positives():
    pairs = [SentencePair(str(i), f"a{i}", f"b{i}", 3.5 + i / 4) for i in range(5)]
    rows = {text: row for row, text in enumerate(t for p in pairs for t in p.texts)}
    found = pair_geometry(lambda texts: FIRST[[rows[text] for text in texts]], pairs)
    above = [FIRST[[rows[p.texts[side]] for p in pairs if p.label > 4]] for side in (0, 1)]
    assert len(above[0]) == 2
    assert found["alignment"] == pytest.approx(alignment(*above))
    assert found["uniformity"] == pytest.approx(uniformity(FIRST[:10]))


X, Y = RANDOM.normal(size=(40, 6)) + 3, RANDOM.normal(size=(40, 9))


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
