"""Alignment and uniformity equal their authors' formulas; the rest, other libraries' values."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics.pairwise import cosine_similarity

from data.examples import SentencePair
from evaluation import geometry as measures
from evaluation.geometry import (
    alignment,
    effective_rank,
    geometry,
    mean_cosine,
    pair_geometry,
    singular_values,
    uniformity,
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


def test_vectors_of_zeros_are_left_out_and_too_few_have_no_geometry():
    zeros = np.zeros((30, 16))
    padded = [np.vstack([side, zeros]) for side in (FIRST, FIRST, SECOND)]
    assert geometry(*padded) == pytest.approx(geometry(FIRST, FIRST, SECOND))
    assert geometry(FIRST, FIRST[:0], FIRST[:0])["alignment"] is None
    for few in (FIRST[:1], np.zeros((5, 16))):
        assert set(geometry(few, FIRST[:0], FIRST[:0]).values()) == {None}


def test_pairs_above_a_score_of_four_are_positives():
    pairs = [SentencePair(str(i), f"a{i}", f"b{i}", 3.5 + i / 4) for i in range(5)]
    rows = {text: row for row, text in enumerate(t for p in pairs for t in p.texts)}
    found = pair_geometry(lambda texts: FIRST[[rows[text] for text in texts]], pairs)
    above = [FIRST[[rows[p.texts[side]] for p in pairs if p.label > 4]] for side in (0, 1)]
    assert len(above[0]) == 2
    assert found["alignment"] == pytest.approx(alignment(*above))
    assert found["uniformity"] == pytest.approx(uniformity(FIRST[:10]))
