"""One split's scores: all rows, the rows of which nothing was seen, and each phenomenon's rows."""

import numpy as np
import pytest

from data.examples import Sentence, SentencePair
from data.overlap import Seen
from evaluation.scoring import is_labelled, score_split


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


def test_a_seen_half_of_a_pair_counts_but_is_not_a_seen_pair():
    seen = Seen()
    seen.add_pairs([("a kite", "a lamp")])
    rows = [SentencePair("1", "a kite", "a boat", 1.0), SentencePair("2", "a sea", "a sail", 0.0)]
    found = score_split("para", rows, np.array([0, 0]), seen)["overlap"]
    assert (found["sentences"], found["pairs"], found["n_rest"]) == (0.5, 0.0, 1)
    assert found["metrics_on_rest"]["accuracy"] == 1.0


def test_rows_are_scored_by_their_phenomenon():
    tags = ("even", None)
    rows = [Sentence(f"x{i}", f"text {i}", i % 5, tags[i % 2]) for i in range(10)]
    scores = score_split("sst", rows, np.array([0, 0, 2, 0, 0, 0, 0, 0, 0, 0]), Seen())
    # rows 0 2 4 6 8 hold the classes 0 2 4 1 3: two are right; untagged rows do not count
    assert scores["phenomena"] == {"even": {"n": 5, "error": 0.6}}
