"""Cosines row by row, and the numbers of a set with several subsets, against scipy."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from baselines.embedder import Embedder
from data.examples import SentencePair
from data.overlap import Seen
from evaluation.suites import SUITES, LoadedSet, Model
from evaluation.suites.sts import (
    cosine_scores,
    pair_cosines,
    selection_score,
    set_metrics,
    sts_metrics,
)

RANDOM = np.random.default_rng(4)
GOLD = {"news": RANDOM.integers(0, 6, 30) / 1.0, "images": RANDOM.integers(0, 6, 70) / 1.0}
# Subsets differ in the height of their cosines: then "all" is no mean of them.
FOUND = {
    name: gold / 10 + height + RANDOM.normal(size=len(gold)) / 8
    for (name, gold), height in zip(GOLD.items(), (0.5, 0.0), strict=True)
}


def test_cosine_scores_come_from_any_encode_function():
    table = {"a": [3.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 2.0]}
    pairs = [SentencePair("1", "a", "a", 5.0), SentencePair("2", "a", "b", 2.0)]
    pairs.append(SentencePair("3", "a", "c", 0.0))

    def encode(texts):
        return np.array([table[text] for text in texts])

    assert cosine_scores(encode, pairs) == pytest.approx([1.0, 2**-0.5, 0.0])
    assert sts_metrics(encode, pairs)["spearman"] == pytest.approx(1.0)
    assert selection_score(encode, pairs) == pytest.approx(1.0)
    assert selection_score(lambda texts: np.ones((len(texts), 2)), pairs) == -1.0


def test_cosines_are_those_of_each_row():
    first, second = np.random.default_rng(0).normal(size=(2, 7, 5)).astype(np.float32)
    for row, a, b in zip(pair_cosines(first, second), first, second, strict=True):
        assert row == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-6)
    assert pair_cosines(first, 3 * first) == pytest.approx(np.ones(7))
    assert pair_cosines(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]


@pytest.mark.parametrize(
    ("metric", "correlation"), [("spearman", spearmanr), ("pearson", pearsonr)]
)
def test_a_set_has_a_number_of_all_rows_and_one_of_each_part(metric, correlation):
    measured = set_metrics(FOUND | {"news": np.ones(30)}, GOLD)
    assert measured["news", metric] == (None, 30)
    measured = set_metrics(FOUND, GOLD)
    joined = correlation(*(np.concatenate(list(side.values())) for side in (FOUND, GOLD)))[0]
    assert measured["all", metric] == (pytest.approx(joined), 100)
    for name, gold in GOLD.items():
        expected = correlation(FOUND[name], gold)[0]
        assert measured[name, metric] == (pytest.approx(expected), len(gold))
    one_part = set_metrics({"test": FOUND["news"]}, {"test": GOLD["news"]})
    assert set(one_part) == {("all", "spearman"), ("all", "pearson")}


def test_unseen_numbers_of_a_set_of_which_one_part_was_seen():
    texts = {name: [f"{name} {row}" for row in range(len(gold))] for name, gold in GOLD.items()}
    pairs = {
        name: [
            SentencePair(text, text, f"{text} again", float(label))
            for text, label in zip(texts[name], GOLD[name], strict=True)
        ]
        for name in GOLD
    }
    seen = Seen()
    seen.add_texts(texts["news"])
    found = {f"{name} {row}": v for name in FOUND for row, v in enumerate(FOUND[name])}
    embedder = Embedder("own", None, lambda first, _: np.array([found[text] for text in first]))
    results = LoadedSet(SUITES["sts"], "set", pairs).measure(Model(embedder, seen))
    own = {result.part: result for result in results if result.metric == "spearman"}
    images = spearmanr(FOUND["images"], GOLD["images"])[0]
    assert own["news"].seen == 1 and own["news"].unseen is None
    assert own["images"].unseen == own["all"].unseen == pytest.approx(images)
    assert own["all"].seen == 0.3
