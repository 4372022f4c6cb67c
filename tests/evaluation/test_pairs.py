"""Pairs as two classes: numbers of sentence-transformers and scikit-learn; HANS counted by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from data.examples import DataError, SentencePair
from evaluation.metrics import best_threshold
from evaluation.suites import hans as suite
from evaluation.suites.hans import hans_metrics
from evaluation.suites.pairs import pair_metrics

RANDOM = np.random.default_rng(1)
SCORES = {"accuracy": accuracy_score, "f1": f1_score}


def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
    labels = RANDOM.integers(0, 2, count).astype(float)
    return labels + RANDOM.normal(size=count), labels


def test_best_metrics_equal_those_of_sentence_transformers():
    evaluation = pytest.importorskip("sentence_transformers.evaluation")
    evaluator = evaluation.BinaryClassificationEvaluator
    similarities, labels = draw(200)
    accuracy, _ = evaluator.find_best_acc_and_threshold(similarities, labels, True)
    f1, *_ = evaluator.find_best_f1_and_threshold(similarities, labels, True)
    metrics = pair_metrics(similarities, labels)
    assert metrics["accuracy_best"] == pytest.approx(accuracy)
    assert metrics["f1_best"] == pytest.approx(f1)
    assert metrics["average_precision"] == average_precision_score(labels, similarities)
    assert metrics["accuracy_train"] is None and metrics["f1_train"] is None


@pytest.mark.parametrize("metric", SCORES)
def test_the_threshold_of_training_pairs_is_used_as_it_is(metric):
    train, test = draw(300), draw(100)
    threshold, score = best_threshold(*train, metric), SCORES[metric]
    metrics = pair_metrics(*test, *train)
    expected = score(test[1], test[0] >= threshold)
    assert metrics[f"{metric}_train"] == pytest.approx(expected)
    assert expected <= metrics[f"{metric}_best"] + 1e-12


def test_a_constant_gives_no_perfect_score():
    """Tied similarities in the order of their labels have misled others."""
    labels = np.array([1.0] * 4 + [0.0] * 6)
    metrics = pair_metrics(np.full(10, 0.5), labels)
    assert metrics["accuracy_best"] == 0.6
    assert metrics["average_precision"] == pytest.approx(0.4)
    assert metrics["f1_best"] == pytest.approx(f1_score(labels, np.ones(10)))
    one_class = pair_metrics(np.array([0.3, 0.4]), np.array([1.0, 1.0]))
    assert one_class["average_precision"] is None


LEXICAL, SUBSEQUENCE = "lexical_overlap", "subsequence"
HANS = [
    (LEXICAL, "le_passive", 1.0, 0.9),
    (LEXICAL, "le_passive", 1.0, 0.4),
    (LEXICAL, "ln_subject/object_swap", 0.0, 0.8),
    (LEXICAL, "ln_subject/object_swap", 0.0, 0.3),
    (LEXICAL, "ln_subject/object_swap", 0.0, 0.7),
    (SUBSEQUENCE, "sn_NP/S", 0.0, 0.2),
]


def hans(threshold: float = 0.5) -> dict:
    pairs = [
        SentencePair(str(row), "a", "b", label, phenomenon=f"{heuristic}/{subcase}")
        for row, (heuristic, subcase, label, _) in enumerate(HANS)
    ]
    return hans_metrics(pairs, np.array([score for *_, score in HANS]), threshold)


def test_hans_by_heuristic_and_subcase():
    found = hans()
    assert found["accuracy"] == (0.5, 6)
    assert found["lexical_overlap, entailed"] == (0.5, 2)
    assert found["lexical_overlap, not entailed"] == (pytest.approx(1 / 3), 3)
    assert found["subsequence, not entailed"] == (1.0, 1)
    assert found["subsequence, entailed"] == (None, 0)
    assert found["subcase lexical_overlap/le_passive"] == (0.5, 2)
    assert found["subcase subsequence/sn_NP/S"] == (1.0, 1)
    assert found["word-order swap"] == (pytest.approx(1 / 3), 3)
    assert found["word-order swap, AUC"] == (pytest.approx(4 / 6), 5)
    all_entailed = hans(threshold=-np.inf)
    assert all_entailed["lexical_overlap, entailed"][0] == 1.0
    assert all_entailed["lexical_overlap, not entailed"][0] == 0.0
    # Of the six combinations, 0.9 beats all three, 0.4 beats 0.3 alone; no threshold is needed.
    for threshold in (0.5, 2.0, np.nan):
        assert hans(threshold)["lexical_overlap, AUC"] == (pytest.approx(4 / 6), 5)
    assert hans()["subsequence, AUC"] == (None, 1)
    assert hans(np.nan)["accuracy"] == (None, 6)


def test_hans_learns_from_as_many_pairs_of_both_kinds(tmp_path, monkeypatch):
    rows = [f"p{n}\th{n}\t{'entailment' if n % 3 else 'neutral'}" for n in range(60)]
    (tmp_path / "nli_pairs.tsv").write_text("premise\thypothesis\tlabel\n" + "\n".join(rows))
    monkeypatch.setattr(suite, "read_hans", lambda folder, name: [])
    monkeypatch.setattr(suite, "MOST_PAIRS", 30)
    labels = [pair.label for pair in suite.read([tmp_path], "HANS").train]
    assert labels == [1.0, 0.0] * 15
    monkeypatch.setattr(suite, "FEWEST_PAIRS", 21)
    with pytest.raises(DataError, match="40 of 60 pairs are entailed"):
        suite.read([tmp_path], "HANS")
