"""Nearest rows and pairs: equal to brute force, ties, edges and other blocks included."""

import numpy as np
import pytest
import torch
from indexing import cut, first_products, unit_rows
from sentence_transformers.util import paraphrase_mining_embeddings, semantic_search

from search import nearest
from search.nearest import PairSearch, Scores, hits, rounding, top_k

__all__ = ["first_products"]
on_all_machines = pytest.mark.usefixtures("first_products")
DTYPES = [torch.float32, torch.bfloat16]


def by_brute_force(queries: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the row numbers of the k nearest by the whole float64 matrix, sorted stably."""
    cosines = np.array([[sum(q * r) for r in rows.astype(float)] for q in queries.astype(float)])
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


@on_all_machines
@pytest.mark.parametrize(
    ("k", "sizes"), [(1, ()), (7, (1, 64)), (60, (50, 50, 50)), (200, (0, 149))]
)
def test_top_k_is_that_of_brute_force_in_any_blocks(k, sizes):
    queries, rows = unit_rows(5, 24), unit_rows(150, 24, 1)
    cosines, found = top_k(queries, cut(rows, *sizes), k)
    assert found.shape == cosines.shape == (5, min(k, 150))
    assert (found == by_brute_force(queries, rows, k)).all()
    assert cosines == pytest.approx(np.take_along_axis(queries @ rows.T, found, 1), abs=1e-6)
    theirs = semantic_search(torch.from_numpy(queries), torch.from_numpy(rows), top_k=k)
    assert [[hit["corpus_id"] for hit in hits] for hits in theirs] == found.tolist()


@on_all_machines
def test_equal_texts_come_in_their_order_wherever_they_stand():
    rows = unit_rows(400, 48, 2)
    # Copies of three texts in all blocks, at odd places: float32 products of them differ.
    rows[3::7], rows[5::11], rows[6::13] = rows[0], rows[1], rows[2]
    queries = np.concatenate([rows[:3], unit_rows(4, 48, 3)])
    blocks = cut(rows, 5, 130, 131)
    for k in (10, 33, 90):
        assert (top_k(queries, blocks, k)[1] == by_brute_force(queries, rows, k)).all()


@on_all_machines
def test_rounding_of_float32_products_does_not_decide():
    """Rows that differ in the last digit have an order, though their float32 products tie."""
    rows = np.repeat(unit_rows(1, 64), 40, axis=0)
    rows[np.arange(40), np.arange(40)] = np.nextafter(rows[0, :40], 1, dtype=np.float32)
    query = unit_rows(1, 64, 5)
    assert len(set((query @ rows.T)[0].tolist())) < 40
    assert (top_k(query, cut(rows, 9, 9), 20)[1] == by_brute_force(query, rows, 20)).all()


def pairs_by_brute_force(rows: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    wide = rows.astype(float)
    found = []
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            if (cosine := float((wide[i] * wide[j]).sum())) >= threshold:
                found.append((-cosine, i, j))
    return [(i, j) for _, i, j in sorted(found)]


@on_all_machines
@pytest.mark.parametrize(
    ("threshold", "most", "sizes"),
    [(0.3, 10_000, ()), (-1.0, 25, (40, 3, 30)), (0.5, 8, (1,)), (0.99, 9, (40, 3, 30))],
)
def test_pairs_are_those_of_brute_force_in_any_blocks(threshold, most, sizes, monkeypatch):
    monkeypatch.setattr(nearest, "LEFT_ROWS", 16)
    rows = unit_rows(90, 12, 10)
    rows[[20, 41, 77]] = rows[4]
    ticks = []
    search = PairSearch(cut(rows, *sizes), threshold, ticks.append)
    cosines, found = search.best(most)
    assert sum(ticks) == 90**2
    expected = pairs_by_brute_force(rows, threshold)
    assert expected and list(map(tuple, found.tolist())) == expected[:most]
    parts = [tuple(pair) for _, part in search.all() for pair in part.tolist()]
    assert sorted(parts) == sorted(expected)
    assert (np.diff(cosines) <= 0).all() and (cosines >= threshold).all()


@on_all_machines
def test_paraphrase_mining_of_sentence_transformers_finds_the_same():
    rows = unit_rows(120, 16, 11)
    cosines, found = PairSearch(cut(rows, 50), 0.4).best(1000)
    theirs = paraphrase_mining_embeddings(torch.from_numpy(rows), max_pairs=10_000, top_k=119)
    theirs = [(score, i, j) for score, i, j in theirs if score >= 0.4]
    assert {tuple(sorted(pair)) for _, *pair in theirs} == set(map(tuple, found.tolist()))
    assert cosines == pytest.approx([score for score, _, _ in theirs], abs=1e-6)


@on_all_machines
def test_a_pair_exactly_at_the_threshold_is_in_and_one_below_is_out():
    """Cosines that bfloat16 and float32 products cannot tell from the threshold."""
    rows = np.zeros((40, 8), np.float32)
    rows[:, 0] = 1
    rows[20:, 0], rows[20:, 1] = 0.75, np.sqrt(1 - 0.75**2)
    rows[30:, 0] = np.nextafter(np.float32(0.75), 0, dtype=np.float32)
    (found,) = PairSearch([rows], 0.75).all()
    between = found[1][(found[1][:, 0] < 20) & (found[1][:, 1] >= 20)]
    assert sorted(map(tuple, between.tolist())) == [
        (i, j) for i in range(20) for j in range(20, 30)
    ]
    assert found[0].min() == 0.75


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("count", "dimensions"), [(1, 16), (50, 256)])
def test_the_bound_on_rounding_holds(count, dimensions, dtype):
    left, right = unit_rows(count, dimensions, 6), unit_rows(300, dimensions, 7)
    right[:50] = left + right[:50] / 20  # cosines near 1, where results are rounded most
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    scores = nearest.products(left, right, dtype)
    exact = left.astype(float) @ right.astype(float).T
    error = np.abs(scores.values.double().numpy() - exact).max()
    assert scores.values.dtype == dtype and 0 < error < scores.error == rounding(dimensions, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("floor", [-0.2, 0.0, 1e-3, 0.5, 0.999])
def test_what_may_reach_a_floor_is_never_left_out(floor, dtype):
    exact = np.linspace(-1, 1, 4001)
    values = torch.from_numpy(exact).to(dtype)[None]
    error = float((values[0].double() - torch.from_numpy(exact)).abs().max())
    reached = Scores(values, error).may_reach(floor)[0]
    assert reached[exact >= floor].all()
    # What is left out, beyond the errors and one digit of bfloat16, is most of the rest.
    assert not reached[exact < floor - 2 * error - (2**-7 if error > 1e-3 else 1e-7)].any()


@pytest.mark.parametrize(("floor", "seen"), [(0.7, DTYPES[1:]), (0.0, [*DTYPES[::-1]])])
def test_float32_decides_where_bfloat16_leaves_too_many(floor, seen, monkeypatch):
    monkeypatch.setattr(nearest, "choose_precision", lambda *which: torch.bfloat16)
    rows, dtypes = unit_rows(200, 32), []

    def reached(scores):
        dtypes.append(scores.values.dtype)
        return scores.may_reach(floor)

    found = hits(rows, rows, reached)
    assert dtypes == seen
    exact = rows.astype(float) @ rows.astype(float).T
    assert {(i, j) for i, j in np.argwhere(exact >= floor)} <= set(map(tuple, found.tolist()))
