"""Nearest rows and pairs: equal to brute force, ties, edges and other blocks included."""

import numpy as np
import pytest
import torch
from indexing import cut, unit_rows
from sentence_transformers.util import paraphrase_mining_embeddings, semantic_search

from search import nearest
from search.nearest import products, rounding, similar_pairs, top_k


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
    scored.clear()
    list(similar_pairs([rows], 0.8))
    assert sum(map(len, scored)) == len(pairs_by_brute_force(rows, 0.8)) > 5
    scored.clear()
    list(similar_pairs([rows], -1.0, 7))
    assert [len(pairs) for pairs in scored[:1]] == [7] and len(scored[1]) < 7


def pairs_by_brute_force(rows: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    exact = rows.astype(float) @ rows.T.astype(float)
    pairs = [(i, j) for i, j in np.argwhere(exact >= threshold).tolist() if i < j]
    return sorted(pairs, key=lambda pair: (-exact[pair].round(14), pair))


@pytest.mark.parametrize(
    ("threshold", "most", "sizes"),
    [(0.3, 10_000, ()), (-1.0, 25, (40, 3, 30)), (0.5, 8, (1,)), (0.99, 9, (40, 3, 30))],
)
def test_pairs_are_those_of_brute_force_in_any_blocks(threshold, most, sizes, monkeypatch):
    monkeypatch.setattr(nearest, "LEFT_ROWS", 16)
    rows = unit_rows(90, 12, 10)
    rows[[20, 41, 77]] = rows[4]
    blocks, ticks = cut(rows, *sizes), []
    ((cosines, pairs),) = similar_pairs(blocks, threshold, most, ticks.append)
    assert sum(ticks) == 90**2
    expected = pairs_by_brute_force(rows, threshold)
    assert expected and list(map(tuple, pairs.tolist())) == expected[:most]
    assert (np.diff(cosines) <= 0).all() and (cosines >= threshold).all()
    unsorted = [
        tuple(pair) for _, part in similar_pairs(blocks, threshold) for pair in part.tolist()
    ]
    assert sorted(unsorted) == sorted(expected)


def test_paraphrase_mining_of_sentence_transformers_finds_the_same():
    rows = unit_rows(120, 16, 11)
    ((cosines, pairs),) = similar_pairs(cut(rows, 50), 0.4, 1000)
    theirs = paraphrase_mining_embeddings(torch.from_numpy(rows), max_pairs=10_000, top_k=119)
    theirs = [(score, i, j) for score, i, j in theirs if score >= 0.4]
    assert {tuple(sorted(pair)) for _, *pair in theirs} == set(map(tuple, pairs.tolist()))
    assert cosines == pytest.approx([score for score, _, _ in theirs], abs=1e-6)


def test_a_pair_exactly_at_the_threshold_is_in_and_one_below_is_out():
    """Cosines that float32 products cannot tell from the threshold."""
    rows = np.zeros((40, 8), np.float32)
    rows[:, 0] = 1
    rows[20:, 0], rows[20:, 1] = 0.75, np.sqrt(1 - 0.75**2)
    rows[30:, 0] = np.nextafter(np.float32(0.75), 0, dtype=np.float32)
    ((cosines, pairs),) = similar_pairs([rows], 0.75)
    between = pairs[(pairs[:, 0] < 20) & (pairs[:, 1] >= 20)]
    assert sorted(map(tuple, between.tolist())) == [
        (i, j) for i in range(20) for j in range(20, 30)
    ]
    assert cosines.min() == 0.75


@pytest.mark.parametrize(("count", "dimensions"), [(1, 16), (50, 256)])
def test_the_bound_on_rounding_holds(count, dimensions):
    left, right = unit_rows(count, dimensions, 6), unit_rows(300, dimensions, 7)
    right[:50] = left + right[:50] / 20  # cosines near 1, where results are rounded most
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    scores = products(left, right)
    exact = left.astype(float) @ right.astype(float).T
    error = np.abs(scores.double().numpy() - exact).max()
    assert scores.dtype == torch.float32 and 0 < error < rounding(dimensions)
