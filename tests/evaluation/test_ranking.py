"""Measures of a search: values by hand, equal to a plain double loop and to trec_eval."""

from math import log2

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from data.examples import Query
from data.tasks import RANKING
from evaluation.ranking import measures, own_last


def query(*relevant: tuple[int, int]) -> Query:
    return Query("q", "a query", relevant)


def values_of(rows: list[int], *relevant: tuple[int, int]) -> dict[str, float]:
    """Return the measures of one ranking by name."""
    found = measures(np.array([rows], np.int64), [query(*relevant)])
    assert found.shape == (1, 4) and found.dtype == np.float64
    return dict(zip(RANKING, found[0].tolist(), strict=True))


def test_one_relevant_text_at_the_third_rank():
    values = values_of([7, 5, 2, *range(10, 107)], (2, 1))
    assert values == {"ndcg@10": 0.5, "mrr@10": pytest.approx(1 / 3), "recall@10": 1} | {
        "recall@100": 1
    }


def test_grades_are_gains_and_the_ideal_has_all_relevant_texts():
    """Grades 1, 0, 3 are found, 2 is not."""
    values = values_of([4, 9, 8], (4, 1), (6, 2), (8, 3))
    ideal = 3 + 2 / log2(3) + 1 / log2(4)
    assert values["ndcg@10"] == pytest.approx((1 + 3 / log2(4)) / ideal)
    assert (values["mrr@10"], values["recall@10"]) == (1, pytest.approx(2 / 3))


def test_the_eleventh_rank_counts_only_for_recall_at_100():
    rows = [*range(10), 50, *range(60, 149), 200]
    values = values_of(rows, (50, 1), (148, 1), (200, 1))
    assert values == {"ndcg@10": 0, "mrr@10": 0, "recall@10": 0, "recall@100": pytest.approx(2 / 3)}


def test_more_than_ten_relevant_texts():
    """Ten can be among the first ten: nDCG reaches 1, recall does not."""
    values = values_of(list(range(20)), *((row, 1) for row in range(20)))
    assert values == {"ndcg@10": 1, "mrr@10": 1, "recall@10": 0.5, "recall@100": 1}


def test_own_rows_are_last_as_if_they_were_not_found():
    rows, scores = np.array([[4, 2, 0], [1, 0, 3]]), np.array([[0.9, 0.8, 0.7], [1.0, 0.5, 0.2]])
    ranked, of_rows = own_last(rows, scores, [[4, 9], []])
    assert ranked.tolist() == [[2, 0, 4], [1, 0, 3]]
    assert of_rows.tolist() == [[0.8, 0.7, -np.inf], [1.0, 0.5, 0.2]]


def test_fewer_than_ten_texts_and_none():
    expected = {"ndcg@10": 1 / log2(3), "mrr@10": 0.5, "recall@10": 1, "recall@100": 1}
    assert values_of([0, 1], (1, 1)) == pytest.approx(expected)
    assert values_of([0, 1, -1, -1], (1, 1)) == pytest.approx(expected)
    assert set(values_of([-1, -1], (1, 1)).values()) == {0}
    assert set(values_of([], (1, 1)).values()) == {0}
    assert measures(np.empty((0, 100), np.int64), []).shape == (0, 4)


# --- parity


def by_loops(rows: list[int], relevant: dict[int, int]) -> list[float]:
    """Return the measures of one ranking, from their definitions."""
    dcg, first, found = 0.0, 0.0, {10: 0, 100: 0}
    for rank, row in enumerate(rows, start=1):
        for depth in found:
            found[depth] += rank <= depth and row in relevant
        if rank <= 10 and row in relevant:
            dcg += relevant[row] / log2(rank + 1)
            first = first or 1 / rank
    ideal = 0.0
    for rank, grade in enumerate(sorted(relevant.values(), reverse=True)[:10], start=1):
        ideal += grade / log2(rank + 1)
    return [dcg / ideal, first, found[10] / len(relevant), found[100] / len(relevant)]


rankings = st.lists(st.integers(0, 40), unique=True, min_size=15, max_size=15)
relevants = st.dictionaries(st.integers(0, 40), st.integers(1, 4), min_size=1, max_size=14)


@given(st.lists(st.tuples(rankings, relevants, st.integers(0, 15)), min_size=1, max_size=5))
def test_a_plain_double_loop_finds_the_same(drawn):
    ranked = np.full((len(drawn), 15), -1, np.int64)
    for place, (rows, _, length) in enumerate(drawn):
        ranked[place, :length] = rows[:length]
    found = measures(ranked, [query(*sorted(relevant.items())) for _, relevant, _ in drawn])
    expected = [by_loops(rows[:length], relevant) for rows, relevant, length in drawn]
    assert found == pytest.approx(np.array(expected), abs=1e-12)


def test_trec_eval_finds_the_same():
    """pytrec_eval calls the code of trec_eval, whose reciprocal rank has no depth."""
    random = np.random.default_rng(0)
    ranked = np.array([random.permutation(400)[:100] for _ in range(200)])
    queries = []
    for _ in ranked:
        rows = np.sort(random.permutation(400)[: random.integers(1, 30)])
        queries.append(query(*((int(row), int(random.integers(1, 4))) for row in rows)))
    judged = {str(n): {str(row): g for row, g in q.relevant} for n, q in enumerate(queries)}

    def theirs(depth: int, *names: str) -> list[list[float]]:
        run = {
            str(number): {str(row): 1.0 / rank for rank, row in enumerate(rows[:depth], start=1)}
            for number, rows in enumerate(ranked)
        }
        found = pytrec_eval.RelevanceEvaluator(judged, {*names}).evaluate(run)
        keys = [name.replace(".", "_") for name in names]
        return [[found[str(number)][key] for key in keys] for number in range(len(queries))]

    whole = np.array(theirs(100, "ndcg_cut.10", "recall.10", "recall.100"))
    first = np.array(theirs(10, "recip_rank"))
    expected = np.concatenate([whole[:, :1], first, whole[:, 1:]], axis=1)
    assert np.abs(measures(ranked, queries) - expected).max() < 1e-9
