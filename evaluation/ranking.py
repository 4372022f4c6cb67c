"""Measures of a search, one value per query: nDCG, MRR and recall of ranked texts.

They are defined as in trec_eval and BEIR (Thakur et al. 2021). Each is a mean over queries, and
values of single queries are kept for confidence intervals.

Legend: Q queries, K ranked texts per query, R relevant texts of one query.
"""

from collections.abc import Sequence

import numpy as np

from data.examples import Query
from data.tasks import RANKING

MOST = 100  # texts of a ranking, as recall@100 needs


def measures(ranked: np.ndarray, queries: Sequence[Query]) -> np.ndarray:
    """Return the measures of each query, (Q, 4) float64, in the order of `RANKING`.

    Args:
        ranked: (Q, K) rows of the corpus, best first; -1 after the last text. No row is twice in
            the ranking of a query. Ranks that are missing hold no relevant text, so K should be
            100.
        queries: the Q queries; each has a relevant text.
    """
    gains = ranked_grades(ranked, queries)
    values = {
        "ndcg@10": dcg(gains, 10) / dcg(ideal_grades(queries), 10),
        "mrr@10": reciprocal_rank(gains, 10),
        "recall@10": recall(gains, queries, 10),
        "recall@100": recall(gains, queries, 100),
    }
    return np.stack([values[name] for name in RANKING], axis=1)


# --- grades by rank


def ranked_grades(ranked: np.ndarray, queries: Sequence[Query]) -> np.ndarray:
    """Return the grade of each ranked text, (Q, K) float64; 0 if it is not relevant."""
    grades = np.zeros(ranked.shape)
    for place, query in enumerate(queries):
        rows, of_rows = np.array(query.relevant).T  # (R,) each
        grades[place] = (ranked[place, :, None] == rows) @ of_rows  # (K, R) x (R,) -> (K,)
    return grades


def ideal_grades(queries: Sequence[Query]) -> np.ndarray:
    """Return the grades of the best ranking: of all relevant texts, falling, then zeros."""
    grades = np.zeros((len(queries), max((len(query.relevant) for query in queries), default=0)))
    for place, query in enumerate(queries):
        falling = sorted((grade for _, grade in query.relevant), reverse=True)
        grades[place, : len(falling)] = falling
    return grades


# --- measures of grades (Q, K) by rank, each (Q,)


def dcg(grades: np.ndarray, depth: int) -> np.ndarray:
    """Return the discounted cumulative gain of the first ranks (Jarvelin and Kekalainen 2002).

    The gain is the grade itself, as in trec_eval, and not 2**grade - 1; rank r, from 1, is divided
    by log2(r + 1).
    """
    first = grades[:, :depth]
    return first @ (1 / np.log2(np.arange(first.shape[1]) + 2))


def reciprocal_rank(grades: np.ndarray, depth: int) -> np.ndarray:
    """Return 1 / rank of the first relevant text; 0 if it is not among the first `depth`."""
    found = grades[:, :depth] > 0
    ranks = np.arange(found.shape[1]) + 1
    return (found / ranks).max(axis=1, initial=0.0)


def recall(grades: np.ndarray, queries: Sequence[Query], depth: int) -> np.ndarray:
    """Return the share of all relevant texts that are among the first `depth`."""
    relevant = np.array([len(query.relevant) for query in queries])
    return (grades[:, :depth] > 0).sum(axis=1) / relevant


def best_first(rows: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (Q, K) and their scores (Q, K), the best first; of equal ones, the lower row."""
    order = np.lexsort((rows, -scores))
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)


def own_last(
    rows: np.ndarray, scores: np.ndarray, own: Sequence[Sequence[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ranked rows (Q, K) and scores (Q, K), with each query's own rows last, at -inf.

    `data.search.own_rows` has the own rows, as if the query did not find them.
    """
    is_own = np.array([np.isin(best, of_query) for best, of_query in zip(rows, own, strict=True)])
    order = np.argsort(is_own, axis=1, kind="stable")
    scores = np.where(is_own, -np.inf, scores)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)


def reranked(rows: np.ndarray, scores: np.ndarray, depth: int) -> np.ndarray:
    """Return found rows (Q, K) with the first `depth` of each query in the order of `best_first`.

    With depth 0 the order stays.
    """
    depth = min(depth, rows.shape[1], scores.shape[1])
    first, _ = best_first(rows[:, :depth], scores[:, :depth])
    return np.hstack([first, rows[:, depth:]])
