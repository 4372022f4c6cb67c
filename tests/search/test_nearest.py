"""Nearest texts and most similar pairs: equal to brute force, ties and other blocks included."""

import numpy as np
import pytest
import torch
from sentence_transformers.util import paraphrase_mining_embeddings, semantic_search

from search import nearest
from search.nearest import most_similar_pairs, top_k


def unit_rows(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cut(rows: np.ndarray, *sizes: int) -> list[np.ndarray]:
    return np.split(rows, np.cumsum(sizes))


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


@pytest.mark.parametrize("dimensions", [16, 256, 768])
def test_the_bound_on_rounding_holds(dimensions):
    left, right = unit_rows(50, dimensions, 6), unit_rows(300, dimensions, 7)
    single = (torch.from_numpy(left) @ torch.from_numpy(right).T).numpy()
    error = np.abs(single - left.astype(float) @ right.astype(float).T).max()
    assert 0 < error < nearest.rounding(dimensions) / 2


def test_semantic_search_of_sentence_transformers_finds_the_same():
    queries, rows = unit_rows(8, 32, 8), unit_rows(500, 32, 9)
    cosines, found = top_k(queries, cut(rows, 200, 200), 12)
    theirs = semantic_search(torch.from_numpy(queries), torch.from_numpy(rows), top_k=12)
    assert [[hit["corpus_id"] for hit in hits] for hits in theirs] == found.tolist()
    scores = [[hit["score"] for hit in hits] for hits in theirs]
    assert cosines == pytest.approx(np.array(scores), abs=1e-6)


def pairs_by_brute_force(rows: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    wide = rows.astype(float)
    found = []
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            if (cosine := float((wide[i] * wide[j]).sum())) >= threshold:
                found.append((-cosine, i, j))
    return [(i, j) for _, i, j in sorted(found)]


@pytest.mark.parametrize("sizes", [(), (40, 3, 30), (1,)])
@pytest.mark.parametrize(("threshold", "most"), [(0.3, 10_000), (-1.0, 25), (0.5, 8), (0.99, 9)])
def test_pairs_are_those_of_brute_force_in_any_blocks(threshold, most, sizes, monkeypatch):
    monkeypatch.setattr(nearest, "LEFT_ROWS", 16)
    rows = unit_rows(90, 12, 10)
    rows[[20, 41, 77]] = rows[4]
    cosines, pairs = most_similar_pairs(cut(rows, *sizes), threshold, most)
    expected = pairs_by_brute_force(rows, threshold)[:most]
    assert expected and list(map(tuple, pairs.tolist())) == expected
    assert (np.diff(cosines) <= 0).all() and (cosines >= threshold).all()


def test_paraphrase_mining_of_sentence_transformers_finds_the_same():
    rows = unit_rows(120, 16, 11)
    cosines, pairs = most_similar_pairs(cut(rows, 50), 0.4, 1000)
    theirs = paraphrase_mining_embeddings(torch.from_numpy(rows), max_pairs=10_000, top_k=119)
    theirs = [(score, i, j) for score, i, j in theirs if score >= 0.4]
    assert {tuple(sorted(pair)) for _, *pair in theirs} == set(map(tuple, pairs.tolist()))
    assert cosines == pytest.approx([score for score, _, _ in theirs], abs=1e-6)


def test_ticks_add_up_to_all_cosines(monkeypatch):
    monkeypatch.setattr(nearest, "LEFT_ROWS", 8)
    ticks = []
    most_similar_pairs(cut(unit_rows(50, 4), 20, 17), 0.5, 3, ticks.append)
    assert sum(ticks) == 50**2


def test_an_empty_list_of_blocks_has_no_pairs():
    cosines, pairs = most_similar_pairs([], 0.5, 3)
    assert len(cosines) == 0 and pairs.shape == (0, 2)
