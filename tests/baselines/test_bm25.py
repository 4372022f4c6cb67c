"""BM25: values by hand, the order of ties, equal to the library bm25s, and on a real set."""

import csv
import json
from math import log

import bm25s
import numpy as np
import pytest
from conftest import real_data, toy_sentences

from baselines import bm25
from baselines.bm25 import BM25
from baselines.jaccard import words
from data.examples import Query
from data.tasks import RANKING
from evaluation.ranking import measures

TEXTS = ["the cat sees a dog", "The dog, the dog!", "", "a red boat"]


def test_scores_by_hand():
    """The mean length is 3; "dog" occurs in two of four texts, "boat" in one."""
    scores = BM25(TEXTS).scores(["Dog boat", "dog dog", "kite", ""])
    dog, boat = log(1 + 2.5 / 2.5), log(1 + 3.5 / 1.5)
    first = dog * 1 / (1 + 1.2 * (0.25 + 0.75 * 5 / 3))
    second = dog * 2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3))
    last = boat * 1 / (1 + 1.2)
    assert scores[0] == pytest.approx([first, second, 0, last])
    assert scores[1] == pytest.approx([2 * first, 2 * second, 0, 0])
    assert not scores[2:].any() and scores.dtype == np.float64


def test_texts_come_best_first_and_equal_ones_in_the_order_of_the_corpus():
    rows = BM25(TEXTS).top_k(["Dog boat", "a", "kite", ""], 3)
    assert rows.tolist() == [[3, 1, 0], [3, 0, 1], [0, 1, 2], [0, 1, 2]]
    assert rows.dtype == np.int64
    equal = BM25(["a kite", *TEXTS, "kite a", *TEXTS, "a kite"])
    assert equal.top_k(["the kite"], 3).tolist() == [[0, 5, 10]]


def test_fewer_texts_than_wanted_and_texts_without_words():
    assert BM25(TEXTS).top_k(["dog"], 100).tolist() == [[1, 0, 2, 3]]
    assert BM25(["", "?!"]).top_k(["dog", ""], 5).tolist() == [[0, 1], [0, 1]]
    assert BM25(TEXTS).top_k([], 2).shape == (0, 2)


def test_words_of_any_script():
    texts = ["Über den Fluß", "кошка видит", "3 kites"]
    assert BM25(texts).top_k(["ÜBER", "КОШКА", "3"], 1).tolist() == [[0], [1], [2]]


def test_blocks_of_queries_change_nothing(monkeypatch):
    texts = toy_sentences(60)
    model, queries = BM25(texts), toy_sentences(23, 1)
    whole = model.top_k(queries, 7)
    monkeypatch.setattr(bm25, "BLOCK", 250)  # four queries at a time
    assert (model.top_k(queries, 7) == whole).all()
    assert (whole == np.argsort(-model.scores(queries), kind="stable")[:, :7]).all()


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4)])
def test_bm25s_finds_the_same_scores(k1, b):
    texts, queries = toy_sentences(300), toy_sentences(40, 1)
    library = bm25s.BM25(method="lucene", k1=k1, b=b)
    library.index([words(text) for text in texts], show_progress=False)
    expected = np.array([library.get_scores(words(query)) for query in queries])
    assert np.abs(BM25(texts, k1, b).scores(queries) - expected).max() < 1e-5


def stackfaq() -> tuple[list[str], list[Query]]:
    """Return the texts and the test queries of StackFAQ, or skip the test."""
    folder = real_data("search/stackfaq")

    def texts(name: str) -> dict[str, str]:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        return {row["_id"]: row["text"] for row in map(json.loads, lines)}

    corpus, queries = texts("corpus.jsonl"), texts("queries.jsonl")
    rows = {id: row for row, id in enumerate(corpus)}
    relevant: dict[str, list[tuple[int, int]]] = {}
    with open(folder / "qrels" / "test.tsv", encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            pair = (rows[line["corpus-id"]], int(line["score"]))
            relevant.setdefault(line["query-id"], []).append(pair)
    found = [Query(id, queries[id], tuple(sorted(pairs))) for id, pairs in relevant.items()]
    return list(corpus.values()), found


def test_scores_on_stackfaq():
    """Another program has nDCG@10 0.454, MRR@10 0.680 and recall@10 0.454 there.

    If each word of a query counts once, our values differ from these by at most 0.005. Lucene
    counts a repeated word as often as it occurs, and so do we.
    """
    texts, queries = stackfaq()
    assert (len(texts), len(queries)) == (719, 550)
    model = BM25(texts)

    def means(spoken: list[str]) -> dict[str, float]:
        found = measures(model.top_k(spoken, 100), queries).mean(axis=0)
        return dict(zip(RANKING, found.tolist(), strict=True))

    ours = {"ndcg@10": 0.445, "mrr@10": 0.667, "recall@10": 0.439, "recall@100": 0.722}
    assert means([query.text for query in queries]) == pytest.approx(ours, abs=0.01)
    once = means([" ".join(dict.fromkeys(words(query.text))) for query in queries])
    del once["recall@100"]
    theirs = {"ndcg@10": 0.454, "mrr@10": 0.680, "recall@10": 0.454}
    assert once == pytest.approx(theirs, abs=0.01)
