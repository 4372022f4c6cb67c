"""Pairs above a threshold: equal to brute force, ties, edges and other blocks included."""

import tracemalloc

import numpy as np
import pytest
import torch
from indexing import cut, first_products, unit_rows
from sentence_transformers.util import paraphrase_mining_embeddings

from search import pairs
from search.pairs import PairSearch

__all__ = ["first_products"]
pytestmark = pytest.mark.usefixtures("first_products")


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
    monkeypatch.setattr(pairs, "LEFT_ROWS", 16)
    rows = unit_rows(90, 12, 10)
    rows[[20, 41, 77]] = rows[4]
    search = PairSearch(cut(rows, *sizes), threshold)
    cosines, found = search.best(most)
    expected = pairs_by_brute_force(rows, threshold)
    assert expected and list(map(tuple, found.tolist())) == expected[:most]
    parts = [tuple(pair) for _, part in search.all() for pair in part.tolist()]
    assert sorted(parts) == sorted(expected)
    assert (np.diff(cosines) <= 0).all() and (cosines >= threshold).all()


def test_paraphrase_mining_of_sentence_transformers_finds_the_same():
    rows = unit_rows(120, 16, 11)
    cosines, found = PairSearch(cut(rows, 50), 0.4).best(1000)
    theirs = paraphrase_mining_embeddings(torch.from_numpy(rows), max_pairs=10_000, top_k=119)
    theirs = [(score, i, j) for score, i, j in theirs if score >= 0.4]
    assert {tuple(sorted(pair)) for _, *pair in theirs} == set(map(tuple, found.tolist()))
    assert cosines == pytest.approx([score for score, _, _ in theirs], abs=1e-6)


def test_ticks_add_up_to_all_cosines(monkeypatch):
    monkeypatch.setattr(pairs, "LEFT_ROWS", 8)
    ticks = []
    PairSearch(cut(unit_rows(50, 4), 20, 17), 0.5, ticks.append).best(3)
    assert sum(ticks) == 50**2


def test_an_empty_list_of_blocks_has_no_pairs():
    cosines, found = PairSearch([], 0.5).best(3)
    assert len(cosines) == 0 and found.shape == (0, 2) and not list(PairSearch([], 0.5).all())


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


def test_memory_is_that_of_a_product_and_of_what_is_kept(monkeypatch):
    monkeypatch.setattr(pairs, "LEFT_ROWS", 64)
    rows = unit_rows(6000, 8, 30)
    blocks = cut(rows, *[500] * 11)
    tracemalloc.start()
    cosines, _ = PairSearch(blocks, 0.0).best(200)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(cosines) == 200 and peak < 6000**2 / 20
