"""HANS's accuracies, on a handful of pairs counted by hand."""

import numpy as np
import pytest

from data.examples import SentencePair
from evaluation.hans import hans_metrics

LEXICAL, SUBSEQUENCE = "lexical_overlap", "subsequence"
ROWS = [
    (LEXICAL, "le_passive", 1.0, 0.9),
    (LEXICAL, "le_passive", 1.0, 0.4),
    (LEXICAL, "ln_subject/object_swap", 0.0, 0.8),
    (LEXICAL, "ln_subject/object_swap", 0.0, 0.3),
    (LEXICAL, "ln_subject/object_swap", 0.0, 0.7),
    (SUBSEQUENCE, "sn_NP/S", 0.0, 0.2),
]


def metrics(threshold: float = 0.5) -> dict:
    pairs = [
        SentencePair(str(row), "a", "b", label, phenomenon=f"{heuristic}/{subcase}")
        for row, (heuristic, subcase, label, _) in enumerate(ROWS)
    ]
    return hans_metrics(pairs, np.array([score for *_, score in ROWS]), threshold)


def test_accuracies_by_heuristic_and_subcase():
    found = metrics()
    assert found["accuracy"] == (0.5, 6)
    assert found["lexical_overlap, entailed"] == (0.5, 2)
    assert found["lexical_overlap, not entailed"] == (pytest.approx(1 / 3), 3)
    assert found["subsequence, not entailed"] == (1.0, 1)
    assert found["subsequence, entailed"] == (None, 0)
    assert found["subcase lexical_overlap/le_passive"] == (0.5, 2)
    assert found["subcase subsequence/sn_NP/S"] == (1.0, 1)


def test_the_swap_of_subject_and_object_stands_by_itself():
    assert metrics()["word-order swap"] == (pytest.approx(1 / 3), 3)
    assert metrics()["word-order swap, AUC"] == (pytest.approx(4 / 6), 5)


def test_the_area_under_the_curve_needs_no_threshold():
    # Of the six combinations, 0.9 beats all three, 0.4 beats 0.3 alone.
    assert metrics()["lexical_overlap, AUC"] == (pytest.approx(4 / 6), 5)
    assert metrics(threshold=2.0)["lexical_overlap, AUC"] == (pytest.approx(4 / 6), 5)
    assert metrics()["subsequence, AUC"] == (None, 1)


def test_who_calls_everything_entailment_is_right_on_entailed_pairs_only():
    found = metrics(threshold=-np.inf)
    assert found["lexical_overlap, entailed"][0] == 1.0
    assert found["lexical_overlap, not entailed"][0] == 0.0
