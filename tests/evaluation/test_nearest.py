"""Nearest rows: equal to brute force, ties, edges and other blocks included."""

import numpy as np
import pytest
import torch
from sentence_transformers.util import semantic_search

from evaluation import nearest
from evaluation.nearest import rounding, top_k


def unit_rows(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    """Return random float32 rows of length 1."""
    rows = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cut(rows: np.ndarray, *sizes: int) -> list[np.ndarray]:
    """Cut rows into blocks of these sizes and one of the rest."""
    return np.split(rows, np.cumsum(sizes))


def by_brute_force(queries: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the row numbers of the k nearest by the whole float64 matrix, sorted stably."""
    cosines = np.array([[sum(q * r) for r in rows.astype(float)] for q in queries.astype(float)])
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize(
    ("k", "sizes"), [(1, ()), (7, (1, 64)), (60, (50, 50, 50)), (200, (0, 149))]
)
@pytest.mark.parametrize("count", [1, 5])
def test_top_k_is_that_of_brute_force_in_any_blocks(count, k, sizes):
    queries, rows = unit_rows(count, 24), unit_rows(150, 24, 1)
    cosines, numbers = top_k(queries, cut(rows, *sizes), k)
    assert numbers.shape == cosines.shape == (count, min(k, 150))
    assert (numbers == by_brute_force(queries, rows, k)).all()
    exact = queries.astype(float) @ rows.T.astype(float)
    assert cosines == pytest.approx(np.take_along_axis(exact, numbers, 1), abs=1e-15)
    theirs = semantic_search(torch.from_numpy(queries), torch.from_numpy(rows), top_k=k)
    assert [[hit["corpus_id"] for hit in hits] for hits in theirs] == numbers.tolist()


def test_equal_texts_come_in_their_order_wherever_they_stand():
    rows = unit_rows(400, 48, 2)
    # Copies of three texts in all blocks, at odd places: float32 products of them differ.
    rows[3::7], rows[5::11], rows[6::13] = rows[0], rows[1], rows[2]
    queries = np.concatenate([rows[:3], unit_rows(4, 48, 3)])
    blocks = cut(rows, 5, 130, 131)
    for k in (10, 33, 90):
        assert (top_k(queries, blocks, k)[1] == by_brute_force(queries, rows, k)).all()


def test_rounding_of_float32_products_does_not_decide():
    """Rows that differ in the last digit have an order, though their float32 products tie."""
    rows = np.repeat(unit_rows(1, 64), 40, axis=0)
    rows[np.arange(40), np.arange(40)] = np.nextafter(rows[0, :40], 1, dtype=np.float32)
    query = unit_rows(1, 64, 5)
    assert len(set((query @ rows.T)[0].tolist())) < 40
    for sizes in ((), (9, 9), (21,)):
        assert (top_k(query, cut(rows, *sizes), 20)[1] == by_brute_force(query, rows, 20)).all()


def test_few_rows_are_scored_exactly(monkeypatch):
    """Candidates are what may be among the best, and hardly more."""
    scored = []
    exact = nearest.cosines
    monkeypatch.setattr(nearest, "cosines", lambda *given: scored.append(given[2]) or exact(*given))
    rows = unit_rows(600, 16, 4)
    top_k(unit_rows(10, 16), cut(rows, 300), 5)
    assert [len(pairs) for pairs in scored[:1]] == [50] and len(scored[1]) < 50


@pytest.mark.parametrize(("count", "dimensions"), [(1, 16), (50, 256)])
def test_the_bound_on_rounding_holds(count, dimensions):
    left, right = unit_rows(count, dimensions, 6), unit_rows(300, dimensions, 7)
    right[:50] = left + right[:50] / 20  # cosines near 1, where results are rounded most
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    scores = torch.from_numpy(left) @ torch.from_numpy(right).T
    exact = left.astype(float) @ right.astype(float).T
    error = np.abs(scores.double().numpy() - exact).max()
    assert scores.dtype == torch.float32 and 0 < error < rounding(dimensions)
