"""The closest embeddings are those that scikit-learn's full table of cosines has."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from evaluation import closest
from evaluation.closest import closest_pair, nearest
from evaluation.geometry import unit


@pytest.mark.parametrize("count", [2, 3, 7, 8, 50])
@pytest.mark.parametrize("block", [1, 7, 1024])
def test_nearest_and_closest_equal_the_full_table(count, block, monkeypatch):
    monkeypatch.setattr(closest, "BLOCK", block)
    rows = np.random.default_rng(count).normal(size=(count, 4))
    table = cosine_similarity(rows)
    assert nearest(unit(rows), unit(rows)[1]) == table[1].argmax()
    np.fill_diagonal(table, -2)
    assert closest_pair(unit(rows)) == np.unravel_index(table.argmax(), table.shape)


def test_two_equal_rows_far_apart_are_found():
    rows = unit(np.random.default_rng(0).normal(size=(3000, 8)))
    rows[2500] = rows[17]
    assert closest_pair(rows.astype(np.float32)) == (17, 2500)
