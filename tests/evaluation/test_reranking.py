"""Retrieval by one encoder, the other, or both: ranks equal scikit-learn's, k = C is the cross."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score

from data.examples import SentencePair
from evaluation.costs import Retrieval, compare_rankings, hybrid_ranks, retrieval_of

QUERIES, CANDIDATES = 12, 30
DRAW = np.random.default_rng(0)
TASK = Retrieval(
    [f"q{n}" for n in range(QUERIES)],
    [f"c{n}" for n in range(CANDIDATES)],
    DRAW.integers(0, CANDIDATES, QUERIES),
)
SIMILARITIES = DRAW.normal(size=(QUERIES, CANDIDATES)).round(1)  # with ties
SCORES = DRAW.normal(size=(QUERIES, CANDIDATES)).round(1)


def score(pairs):
    return np.array([SCORES[int(a[1:]), int(b[1:])] for a, b in pairs])


def expected(scores):
    """Return the mean reciprocal rank: scikit-learn's average precision of one right label."""
    right = np.eye(CANDIDATES, dtype=int)[TASK.partners]
    return label_ranking_average_precision_score(right, scores)


def by_name(rankings):
    return {(found.by, found.k): found for found in rankings}


def test_both_ends_equal_scikit_learn_and_the_middle_lies_on_one_list():
    found = by_name(compare_rankings(TASK, SIMILARITIES, 0.5, score, 10.0, (1, 5, 50, 100)))
    hybrids = [("hybrid", 1), ("hybrid", 5), ("hybrid", CANDIDATES)]
    assert list(found) == [("bi", 0), *hybrids, ("cross", CANDIDATES)]
    assert found["bi", 0].mrr == pytest.approx(expected(SIMILARITIES))
    assert found["cross", CANDIDATES].mrr == pytest.approx(expected(SCORES))
    assert found["hybrid", CANDIDATES].mrr == found["cross", CANDIDATES].mrr
    # What was retrieved goes first, in the order of its scores; the rest as it was.
    order = np.argsort(-SIMILARITIES, axis=1, kind="stable")[:, :5]
    lifted = SIMILARITIES.copy()
    np.put_along_axis(lifted, order, 100 + np.take_along_axis(SCORES, order, 1), axis=1)
    assert found["hybrid", 5].mrr == pytest.approx(expected(lifted))


def test_re_ranking_never_moves_a_partner_into_or_out_of_the_list():
    order = np.argsort(-SIMILARITIES, axis=1, kind="stable")
    for k in (1, 3, 10):
        rows = order[:, :k]
        scores = np.take_along_axis(SCORES, rows, axis=1)
        ranks = hybrid_ranks(SIMILARITIES, rows, scores, TASK.partners)
        retrieved = (rows == TASK.partners[:, None]).any(axis=1)
        assert (ranks[retrieved] <= k).all() and (ranks[~retrieved] > k).all()


def test_durations_grow_with_k_and_only_what_was_scored_is_measured():
    found = by_name(compare_rankings(TASK, SIMILARITIES, 0.5, score, 10.0, (1, 5)))
    assert found["bi", 0].duration.seconds == 0.5 and found["bi", 0].duration.measured
    assert 0.5 < found["hybrid", 1].duration.seconds < found["hybrid", 5].duration.seconds
    assert not found["hybrid", 1].duration.measured and found["hybrid", 5].duration.measured
    assert found["cross", CANDIDATES].duration.measured
    # What would take too long is projected, without quality.
    last = compare_rankings(TASK, SIMILARITIES, 0.5, score, 0.0, (1, 5))[-1]
    assert (last.by, last.k, last.mrr, last.recall_at_1) == ("cross", CANDIDATES, None, None)
    assert last.duration.seconds > 0 and not last.duration.measured


def test_who_calls_all_texts_alike_finds_nothing():
    constant = np.zeros_like(SIMILARITIES)
    ranked = compare_rankings(TASK, constant, 0.5, lambda pairs: np.zeros(len(pairs)), 10.0, (1,))
    assert ranked[0].recall_at_1 == ranked[-1].recall_at_1 == 0.0
    assert ranked[0].mrr == ranked[-1].mrr == pytest.approx(1 / CANDIDATES)


def test_the_task_is_made_of_positive_pairs_among_all_second_texts():
    pairs = [
        SentencePair("1", "a", "b", 1.0),
        SentencePair("2", "a", "c", 1.0),  # a is to find its first partner
        SentencePair("3", "d", "e", 0.0),
        SentencePair("4", "b", "f", 1.0),  # b is a candidate: it would find itself
        SentencePair("5", "g", "b", 1.0),
    ]
    task = retrieval_of(pairs)
    assert task.candidates == ["b", "c", "e", "f"]
    assert task.queries == ["a", "g"] and task.partners.tolist() == [0, 0]
    assert task.first(1).queries == ["a"] and task.first(1).candidates == task.candidates
    assert retrieval_of(pairs[2:3]).queries == []
