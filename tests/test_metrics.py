"""Metrics equal scikit-learn's and scipy's; what is undefined is None, never NaN."""

import numpy as np
import pytest
from conftest import real_data
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from data.cs224n import read_task
from data.examples import Sentence, SentencePair
from data.overlap import Seen
from data.selection import selection_pairs
from evaluation.metrics import METRICS, task_metrics
from evaluation.scoring import is_labelled, score_split
from evaluation.sts import cosine_scores, sts_metrics

RANDOM = np.random.default_rng(0)


def test_sentiment_metrics_equal_scikit_learn():
    gold, found = RANDOM.integers(0, 5, 200), RANDOM.integers(0, 5, 200)
    metrics = task_metrics("sst", found, gold)
    assert metrics["accuracy"] == accuracy_score(gold, found)
    assert metrics["f1"] == f1_score(gold, found, average="macro")
    assert metrics["f1_weighted"] == f1_score(gold, found, average="weighted")
    assert metrics["pearson"] is None and metrics["spearman"] is None


def test_paraphrase_metrics_are_accuracy_and_binary_f1():
    gold, found = RANDOM.integers(0, 2, 200), RANDOM.integers(0, 2, 200)
    metrics = task_metrics("para", found, gold)
    assert metrics["accuracy"] == accuracy_score(gold, found)
    assert metrics["f1"] == f1_score(gold, found)


def test_similarity_metrics_equal_scipy_with_ties():
    gold, found = RANDOM.integers(0, 6, 200) / 1.0, RANDOM.normal(size=200).round(1)
    metrics = task_metrics("sts", found, gold)
    assert metrics["pearson"] == pytest.approx(pearsonr(gold, found)[0], abs=1e-12)
    assert metrics["spearman"] == pytest.approx(spearmanr(gold, found)[0], abs=1e-12)


@pytest.mark.parametrize(
    "predictions",
    [
        np.full(9, 2.5),
        2.5 + 1e-8 * np.arange(9),
        np.full(9, np.nan),
        np.array([1.0, np.inf] + [0] * 7),
    ],
)
def test_correlation_of_constant_or_broken_predictions_is_undefined(predictions, recwarn):
    metrics = task_metrics("sts", predictions, np.arange(9.0))
    assert metrics == dict.fromkeys(METRICS)
    assert not recwarn.list


def test_never_predicting_the_positive_class_gives_f1_zero(recwarn):
    assert task_metrics("para", np.zeros(4), np.array([0, 1, 1, 0]))["f1"] == 0.0
    assert not recwarn.list


@pytest.mark.parametrize(("found", "gold"), [([], []), ([1.0], [1.0, 2.0])])
def test_no_rows_or_unequal_lengths_are_refused(found, gold):
    with pytest.raises(ValueError, match="predictions for"):
        task_metrics("sts", np.array(found), np.array(gold))


def test_cosine_scores_come_from_any_encode_function():
    table = {"a": [3.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 2.0]}
    pairs = [SentencePair("1", "a", "a", 5.0), SentencePair("2", "a", "b", 2.0)]
    pairs.append(SentencePair("3", "a", "c", 0.0))

    def encode(texts):
        return np.array([table[text] for text in texts])

    assert cosine_scores(encode, pairs) == pytest.approx([1.0, 2**-0.5, 0.0])
    assert sts_metrics(encode, pairs)["spearman"] == pytest.approx(1.0)


def test_rows_seen_in_training_are_counted_and_scored_apart():
    seen = Seen()
    seen.add_texts(["The kite flies."])
    rows = [
        Sentence("1", "the KITE flies", 1),
        Sentence("2", "A lamp.", 0),
        Sentence("3", "Two lamps.", 4),
    ]
    found = score_split("sst", rows, np.array([0, 0, 4]), seen)
    assert found["n"] == 3
    assert found["metrics"]["accuracy"] == pytest.approx(2 / 3)
    assert found["overlap"]["sentences"] == pytest.approx(1 / 3)
    assert found["overlap"]["n_rest"] == 2
    assert found["overlap"]["metrics_on_rest"]["accuracy"] == 1.0


def test_when_every_row_was_seen_there_is_no_rest_to_score():
    seen = Seen()
    seen.add_pairs([("a kite", "a lamp")])
    found = score_split("para", [SentencePair("1", "A lamp", "A kite", 1.0)], np.array([1]), seen)
    assert found["overlap"]["pairs"] == 1.0
    assert found["overlap"]["metrics_on_rest"] == {}


def test_unlabelled_examples_are_not_scored():
    assert not is_labelled([])
    assert not is_labelled([Sentence("1", "x", 1), Sentence("2", "y")])
    assert is_labelled([Sentence("1", "x", 0)])


def test_selection_never_peeks_at_pairs_that_are_scored():
    folder = real_data("cs224n")
    chosen = selection_pairs(folder)
    splits = read_task(folder, "sts")
    assert len(chosen) == 1031
    ids = {pair.id for pair in chosen}
    assert ids <= {pair.id for pair in splits.train}
    assert not ids & {pair.id for pair in (*splits.dev, *splits.test)}


def test_selection_without_official_rows_takes_training_pairs(toy_data, tmp_path):
    assert [pair.id for pair in selection_pairs(toy_data)] == [
        pair.id for pair in read_task(toy_data, "sts").train
    ]
    assert selection_pairs(tmp_path) == []


def test_a_column_that_counts_the_rows_is_not_of_official_rows(tmp_path):
    """As pandas writes one: from row 5,749 on it looks like the official dev set's."""
    rows = [f"{i}\ts{i}\tone {i}\tother {i}\t{i % 6}" for i in range(5_760)]
    table = "\n".join(["\tid\tsentence1\tsentence2\tsimilarity", *rows]) + "\n"
    (tmp_path / "sts-train.csv").write_text(table)
    assert [pair.id for pair in selection_pairs(tmp_path)] == [f"s{i}" for i in range(1000)]


@pytest.mark.parametrize("noise", [0.0, 1e-8])
def test_correlation_with_constant_labels_is_undefined(noise, recwarn):
    labels = 3.0 + noise * np.arange(9)
    assert task_metrics("sts", np.arange(9.0), labels) == dict.fromkeys(METRICS)
    assert not recwarn.list


def test_a_narrow_but_real_ranking_is_not_taken_for_noise():
    metrics = task_metrics("sts", 2.5 + 1e-4 * np.arange(9), np.arange(9.0))
    assert metrics["pearson"] == pytest.approx(1.0)
    assert metrics["spearman"] == pytest.approx(1.0)


def test_one_row_has_no_correlation():
    assert task_metrics("sts", np.array([1.0]), np.array([2.0]))["spearman"] is None


def test_a_seen_half_of_a_pair_counts_but_is_not_a_seen_pair():
    seen = Seen()
    seen.add_pairs([("a kite", "a lamp")])
    rows = [SentencePair("1", "a kite", "a boat", 1.0), SentencePair("2", "a sea", "a sail", 0.0)]
    found = score_split("para", rows, np.array([0, 0]), seen)["overlap"]
    assert (found["sentences"], found["pairs"], found["n_rest"]) == (0.5, 0.0, 1)
    assert found["metrics_on_rest"]["accuracy"] == 1.0


def test_selection_takes_only_rows_of_the_official_dev_set():
    folder = real_data("cs224n")
    assert all(5749 <= pair.row <= 7248 for pair in selection_pairs(folder))
    scored = read_task(folder, "sts")
    rows = {pair.row for pair in (*scored.dev, *scored.test)}
    assert not rows & {pair.row for pair in selection_pairs(folder)}
