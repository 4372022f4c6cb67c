"""Cosines row by row, and the numbers of a set with several subsets, against scipy."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from baselines.embedder import Embedder
from data.examples import SentencePair
from data.overlap import Seen
from evaluation.cosine import cosine_scores, pair_cosines, selection_score, sts_metrics
from evaluation.suites import sts
from evaluation.suites.measured import LoadedSet, Model
from evaluation.suites.sts import set_metrics

RANDOM = np.random.default_rng(4)
GOLD = RANDOM.integers(0, 6, 100) / 1.0
SUBSETS = np.repeat(["news", "images"], [30, 70])
NAMES = ["news", "images"]
# Subsets differ in the height of their cosines: then "all" is no mean of them.
SCORES = GOLD / 10 + 0.5 * (SUBSETS == "news") + RANDOM.normal(size=100) / 8


def test_cosine_scores_come_from_any_encode_function():
    table = {"a": [3.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 2.0]}
    pairs = [SentencePair("1", "a", "a", 5.0), SentencePair("2", "a", "b", 2.0)]
    pairs.append(SentencePair("3", "a", "c", 0.0))

    def encode(texts):
        return np.array([table[text] for text in texts])

    assert cosine_scores(encode, pairs) == pytest.approx([1.0, 2**-0.5, 0.0])
    assert pair_cosines(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]
    assert sts_metrics(encode, pairs)["spearman"] == pytest.approx(1.0)
    assert selection_score(encode, pairs) == pytest.approx(1.0)
    assert selection_score(lambda texts: np.ones((len(texts), 2)), pairs) == -1.0


@pytest.mark.parametrize(
    ("metric", "correlation"), [("spearman", spearmanr), ("pearson", pearsonr)]
)
def test_a_set_has_a_number_of_all_rows_and_one_of_each_part(metric, correlation):
    measured = set_metrics(SCORES, GOLD, SUBSETS, NAMES)
    assert measured["all", metric] == (pytest.approx(correlation(SCORES, GOLD)[0]), 100)
    for name in NAMES:
        rows = SUBSETS == name
        expected = correlation(SCORES[rows], GOLD[rows])[0]
        assert measured[name, metric] == (pytest.approx(expected), rows.sum())
    constant = np.where(SUBSETS == "news", 1.0, SCORES)
    assert set_metrics(constant, GOLD, SUBSETS, NAMES)["news", metric] == (None, 30)
    one_part = set_metrics(SCORES, GOLD, np.full(100, "test"), ["test"])
    assert set(one_part) == {("all", "spearman"), ("all", "pearson")}


def test_unseen_numbers_of_a_set_of_which_one_part_was_seen():
    texts = [f"{name} {row}" for row, name in enumerate(SUBSETS)]
    pairs = [
        SentencePair(text, text, f"{text} again", float(label))
        for text, label in zip(texts, GOLD, strict=True)
    ]
    seen = Seen()
    seen.add_texts(texts[:30])
    score_of = dict(zip(texts, SCORES, strict=True))
    embedder = Embedder("made", None, lambda a, _: np.array([score_of[text] for text in a]))
    loaded = LoadedSet("sts", "set", examples=pairs, scored=pairs, subsets=SUBSETS)
    results = sts.measure(Model(embedder, seen), loaded)
    by_part = {result.part: result for result in results if result.metric == "spearman"}
    images = spearmanr(SCORES[30:], GOLD[30:])[0]
    assert by_part["news"].seen == 1 and by_part["news"].unseen is None
    assert by_part["images"].unseen == by_part["all"].unseen == pytest.approx(images)
    assert by_part["all"].seen == 0.3
    # Only all rows have an interval.
    assert by_part["all"].low < by_part["all"].value < by_part["all"].high
    assert by_part["news"].low is None
