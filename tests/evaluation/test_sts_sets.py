"""The three ways to make one number of several subsets, against scipy."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from baselines.embedder import Embedder
from data.examples import SentencePair
from data.overlap import Seen
from evaluation.measures import Model, measure_sts
from evaluation.sts import set_metrics

RANDOM = np.random.default_rng(4)
GOLD = {"news": RANDOM.integers(0, 6, 30) / 1.0, "images": RANDOM.integers(0, 6, 70) / 1.0}
# Subsets differ in the height of their cosines: then "all" and "mean" differ.
FOUND = {
    name: gold / 10 + height + RANDOM.normal(size=len(gold)) / 8
    for (name, gold), height in zip(GOLD.items(), (0.5, 0.0), strict=True)
}


@pytest.mark.parametrize(
    ("metric", "correlation"), [("spearman", spearmanr), ("pearson", pearsonr)]
)
def test_all_mean_and_wmean_are_what_they_say(metric, correlation):
    found = set_metrics(FOUND, GOLD)
    parts = [correlation(FOUND[name], GOLD[name])[0] for name in GOLD]
    joined = correlation(*(np.concatenate(list(side.values())) for side in (FOUND, GOLD)))[0]
    assert found["news", metric] == (pytest.approx(parts[0]), 30)
    assert found["images", metric] == (pytest.approx(parts[1]), 70)
    assert found["all", metric] == (pytest.approx(joined), 100)
    assert found["mean", metric] == (pytest.approx(np.mean(parts)), 100)
    assert found["wmean", metric] == (pytest.approx(0.3 * parts[0] + 0.7 * parts[1]), 100)
    assert found["all", metric][0] < found["mean", metric][0]


def test_a_set_of_one_part_has_one_number():
    assert set(set_metrics({"test": FOUND["news"]}, {"test": GOLD["news"]})) == {
        ("all", "spearman"),
        ("all", "pearson"),
    }


def test_a_mean_with_an_undefined_part_is_undefined():
    found = set_metrics(FOUND | {"news": np.ones(30)}, GOLD)
    assert found["news", "spearman"] == (None, 30)
    assert found["mean", "spearman"] == found["wmean", "spearman"] == (None, 100)
    assert found["all", "spearman"][0] is not None


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
    results = {
        r.part: r for r in measure_sts(Model(embedder, seen), "set", pairs)
        if r.metric == "spearman"
    }  # fmt: skip
    images = spearmanr(FOUND["images"], GOLD["images"])[0]
    assert results["news"].seen == 1 and results["news"].unseen is None
    assert results["images"].unseen == results["all"].unseen == pytest.approx(images)
    assert results["all"].seen == 0.3
    assert results["mean"].unseen is None and results["mean"].value is not None
