"""Nearest texts: equal to brute force, ties and other blocks included."""

import numpy as np
import pytest
import torch
from indexing import cut, first_products, unit_rows
from sentence_transformers.util import semantic_search

from search.nearest import top_k

__all__ = ["first_products"]
pytestmark = pytest.mark.usefixtures("first_products")


def by_brute_force(queries: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the row numbers of the k nearest by the whole float64 matrix, sorted stably."""
    cosines = np.array([[sum(q * r) for r in rows.astype(float)] for q in queries.astype(float)])
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("k", [1, 7, 60, 200])
@pytest.mark.parametrize("sizes", [(), (1, 64), (50, 50, 50), (0, 149)])
def test_top_k_is_that_of_brute_force_in_any_blocks(k, sizes):
    queries, rows = unit_rows(5, 24), unit_rows(150, 24, 1)
    cosines, found = top_k(queries, cut(rows, *sizes), k)
    assert found.shape == cosines.shape == (5, min(k, 150))
    assert (found == by_brute_force(queries, rows, k)).all()
    assert cosines == pytest.approx(np.take_along_axis(queries @ rows.T, found, 1), abs=1e-6)


def test_equal_texts_come_in_their_order_wherever_they_stand():
    rows = unit_rows(400, 48, 2)
    # Copies of three texts in all blocks, at odd places: float32 products of them differ.
    rows[3::7], rows[5::11], rows[6::13] = rows[0], rows[1], rows[2]
    queries = np.concatenate([rows[:3], unit_rows(4, 48, 3)])
    blocks = cut(rows, 5, 130, 131)
    for k in (10, 33, 90):
        assert (top_k(queries, blocks, k)[1] == by_brute_force(queries, rows, k)).all()


def test_rounding_of_float32_products_does_not_decide():
    """Rows that differ in the last digit are told apart, though their float32 products tie."""
    rows = np.repeat(unit_rows(1, 64), 40, axis=0)
    rows[np.arange(40), np.arange(40)] = np.nextafter(rows[0, :40], 1, dtype=np.float32)
    query = unit_rows(1, 64, 5)
    assert len(set((query @ rows.T)[0].tolist())) < 40
    assert (top_k(query, cut(rows, 9, 9), 20)[1] == by_brute_force(query, rows, 20)).all()


def test_semantic_search_of_sentence_transformers_finds_the_same():
    queries, rows = unit_rows(8, 32, 8), unit_rows(500, 32, 9)
    cosines, found = top_k(queries, cut(rows, 200, 200), 12)
    theirs = semantic_search(torch.from_numpy(queries), torch.from_numpy(rows), top_k=12)
    assert [[hit["corpus_id"] for hit in hits] for hits in theirs] == found.tolist()
    scores = [[hit["score"] for hit in hits] for hits in theirs]
    assert cosines == pytest.approx(np.array(scores), abs=1e-6)


def test_the_best_of_many_rows_are_found_where_few_are_candidates():
    queries, rows = unit_rows(20, 32, 20), unit_rows(9000, 32, 21)
    rows[4000:4030] = rows[8000:8030] = (queries + rows[:20] / 4).repeat(2, axis=0)[:30]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    wide = queries.astype(float) @ rows.astype(float).T
    expected = np.argsort(-wide, axis=1, kind="stable")[:, :3]
    cosines, found = top_k(queries, cut(rows, 4096, 4096), 3)
    assert cosines == pytest.approx(np.take_along_axis(wide, expected, 1), abs=1e-12)
    assert (found[:15, :2] == [[4000 + 2 * n, 4001 + 2 * n] for n in range(15)]).all()


def test_negative_cosines_are_told_apart():
    query = unit_rows(1, 16, 22)
    rows = -np.abs(unit_rows(300, 16, 23)) * np.sign(query)
    rows[200] = -query
    cosines, found = top_k(query, cut(rows, 100, 100), 300)
    assert (
        cosines[0, 0] < 0
        and found[0, -1] == 200
        and (found == by_brute_force(query, rows, 300)).all()
    )
