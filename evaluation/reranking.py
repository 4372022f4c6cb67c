"""Finding a paraphrase among many texts: by the bi-encoder, the cross-encoder, or both in turn.

The hybrid retrieves k texts by the cosine and lets the cross-encoder order these k (Nogueira & Cho
2019; sentence-transformers' "retrieve & re-rank").
Legend: Q queries, C candidates, K candidates that the cross-encoder has read of each query.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from data.examples import SentencePair
from evaluation.costs import Duration

DEPTHS = (1, 5, 10, 20, 50)  # k
FEWEST = 10  # queries; less would say nothing, even where the budget allows no more

# Pairs of texts -> (N,), higher for paraphrases.
Score = Callable[[Sequence[tuple[str, str]]], np.ndarray]


@dataclass(frozen=True)
class Retrieval:
    """Queries, candidates, and which candidate is each query's paraphrase.

    Other candidates may be paraphrases, too, without a label that says so; they count as wrong.
    """

    queries: list[str]
    candidates: list[str]
    partners: np.ndarray  # (Q,) rows of candidates

    def first(self, count: int) -> "Retrieval":
        """Return the task with the first queries only, and all candidates."""
        return Retrieval(self.queries[:count], self.candidates, self.partners[:count])


@dataclass(frozen=True)
class Ranking:
    """How well and how fast one way ranks the candidates.

    Attributes:
        by: "bi", "hybrid" or "cross".
        k: candidates per query that the cross-encoder reads; 0 for "bi", C for "cross".
        mrr: mean reciprocal rank of the partner, 0 to 1; None where it was not computed.
        recall_at_1: share of queries whose partner comes first; None likewise.
        duration: of one query, the candidates' embeddings given; projected from measured pairs
            where another number of them was scored.
    """

    by: str
    k: int
    mrr: float | None
    recall_at_1: float | None
    duration: Duration


def retrieval_of(pairs: Sequence[SentencePair]) -> Retrieval:
    """Return the task that labelled pairs (1.0 = paraphrase) make.

    Queries are the distinct first texts of positive pairs, candidates the distinct second texts of
    all pairs. A text with several partners is to find its first one. A query that is a candidate
    itself, word for word, would find itself, and is left out.
    """
    candidates = {text: row for row, text in enumerate(dict.fromkeys(p.text_b for p in pairs))}
    partners: dict[str, int] = {}
    for pair in pairs:
        if pair.label == 1 and pair.text_a not in candidates:
            partners.setdefault(pair.text_a, candidates[pair.text_b])
    rows = np.fromiter(partners.values(), np.int64, len(partners))
    return Retrieval(list(partners), list(candidates), rows)


def compare_rankings(
    task: Retrieval,
    similarities: np.ndarray,
    bi_seconds: float,
    score: Score,
    budget: float,
    depths: Sequence[int] = DEPTHS,
) -> list[Ranking]:
    """Return the bi-encoder, the hybrid at each depth, and the cross-encoder over all candidates.

    The cross-encoder reads the deepest list of each query once, which holds all shorter ones; all
    candidates only if that, too, stays within the budget. Otherwise its quality is None.

    Args:
        task: Q queries among C candidates; Q at least 1.
        similarities: (Q, C), by the bi-encoder.
        bi_seconds: that these took per query.
        score: the cross-encoder.
        budget: seconds for it.
        depths: k of the hybrid, at least one; C stands for larger ones.
    """
    wanted, count = task.partners, len(task.candidates)
    depths = sorted({min(k, count) for k in depths})
    rankings = [_ranking("bi", 0, _ranks(similarities, wanted), Duration(bi_seconds, True))]
    # Most similar first; equal ones in the order of the candidates.
    order = np.argsort(-similarities, axis=1, kind="stable")
    started = time.perf_counter()
    scores = _scored(task, order[:, : depths[-1]], score)
    per_pair = (time.perf_counter() - started) / scores.size
    for k in depths:
        ranks = hybrid_ranks(similarities, order[:, :k], scores[:, :k], wanted)
        took = Duration(bi_seconds + k * per_pair, k == depths[-1])
        rankings.append(_ranking("hybrid", k, ranks, took))
    took = Duration(count * per_pair, False)
    if len(wanted) * took.seconds > budget:
        return [*rankings, Ranking("cross", count, None, None, took)]
    started = time.perf_counter()
    everything = np.tile(np.arange(count), (len(wanted), 1))
    ranks = _ranks(_scored(task, everything, score), wanted)
    took = Duration((time.perf_counter() - started) / len(wanted), True)
    return [*rankings, _ranking("cross", count, ranks, took)]


def hybrid_ranks(
    similarities: np.ndarray, rows: np.ndarray, scores: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Return the rank, from 1, of each query's partner after re-ranking, (Q,).

    Args:
        similarities: (Q, C), which rank what was not retrieved, below all that was.
        rows: (Q, K) candidates retrieved for each query.
        scores: (Q, K) of these by the cross-encoder.
        wanted: (Q,) rows of the partners.
    """
    # Above what was not retrieved are at least the K that were.
    ranks = _ranks(similarities, wanted)
    query, place = np.nonzero(rows == wanted[:, None])
    ranks[query] = _ranks(scores[query], place)
    return ranks


def _ranks(scores: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the rank, from 1, of column `wanted` (Q,) in each row of (Q, C).

    Equal scores count against it: a function that calls all texts alike finds nothing.
    """
    return (scores >= np.take_along_axis(scores, wanted[:, None], axis=1)).sum(axis=1)


def _scored(task: Retrieval, rows: np.ndarray, score: Score) -> np.ndarray:
    """Return the cross-encoder's scores of each query with its candidates `rows`, (Q, K)."""
    pairs = [
        (query, task.candidates[row])
        for query, own in zip(task.queries, rows.tolist(), strict=True)
        for row in own
    ]
    return np.asarray(score(pairs)).reshape(rows.shape)


def _ranking(by: str, k: int, ranks: np.ndarray, took: Duration) -> Ranking:
    return Ranking(by, k, float((1 / ranks).mean()), float((ranks == 1).mean()), took)
