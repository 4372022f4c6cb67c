"""Word embeddings from counts: pieces that occur near each other are near each other."""

import numpy as np
import pytest
import torch

from minbert.pretraining.initialisation import cooccurrence_embeddings


def rows_of_two_topics() -> np.ndarray:
    """Rows whose pieces are all below 10, or all from 10 on."""
    draw = np.random.default_rng(0)
    rows = draw.integers(0, 10, (400, 16))
    rows[200:] += 10
    return rows.astype(np.uint16)


def test_pieces_of_one_topic_are_nearer_than_those_of_two():
    found = cooccurrence_embeddings(rows_of_two_topics(), 20, 8, 0.02)
    cosines = torch.nn.functional.normalize(found, dim=-1)
    cosines = cosines @ cosines.T
    same = torch.block_diag(torch.ones(10, 10), torch.ones(10, 10)).bool()
    off_diagonal = ~torch.eye(20, dtype=torch.bool)
    assert cosines[same & off_diagonal].mean() > 0.5 + cosines[~same].mean()


def test_neighbours_on_both_sides_count_alike():
    """Read backwards, a text has the same embeddings, up to their axes."""
    rows = np.random.default_rng(0).integers(0, 20, (50, 16))
    rows[:, 1::2] = (rows[:, ::2] + 1) % 20  # what follows a piece is not what precedes it
    found, backwards = (
        cooccurrence_embeddings(np.ascontiguousarray(one), 20, 8, 0.02)
        for one in (rows, rows[:, ::-1])
    )
    torch.testing.assert_close(found @ found.T, backwards @ backwards.T, rtol=1e-3, atol=1e-6)


def test_embeddings_are_centred_and_of_the_scale_of_a_random_start():
    found = cooccurrence_embeddings(rows_of_two_topics(), 20, 8, 0.02)
    assert found.shape == (20, 8) and found.dtype == torch.float32
    assert found.std().item() == pytest.approx(0.02)
    assert found.mean(dim=0).abs().max().item() < 1e-6


def test_directions_that_a_small_vocabulary_lacks_are_zero():
    found = cooccurrence_embeddings(rows_of_two_topics(), 20, 64, 0.02)
    assert found.shape == (20, 64) and not found[:, 20:].any()
    assert found[:, :20].std().item() == pytest.approx(0.02)


def test_the_seed_decides_and_nobody_elses_numbers_change():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first = cooccurrence_embeddings(rows_of_two_topics(), 20, 8, 0.02, seed=1)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first, cooccurrence_embeddings(rows_of_two_topics(), 20, 8, 0.02, seed=1))


def test_pieces_that_never_occur_are_finite():
    found = cooccurrence_embeddings(rows_of_two_topics(), 30, 8, 0.02)
    assert found.isfinite().all()
