"""What needs no trained head: the most frequent class, word overlap, names in words."""

import numpy as np
import pytest

from data.examples import Sentence, SentencePair
from data.tasks import OWN, Splits
from report.floors import cosine_row, floors, in_words, is_floor


def pairs(labels):
    return [SentencePair(f"p{n}", f"a {n}", f"b {n}", float(v)) for n, v in enumerate(labels)]


def test_the_most_frequent_class_is_that_of_the_training_rows():
    found = floors("para", Splits(pairs([1, 1, 0]), [], pairs([0, 0, 0, 1])), "test")
    assert found["always yes"].tolist() == [1, 1, 1, 1]
    assert set(found) == {"always yes"}  # no other texts choose a threshold for word overlap
    train = [Sentence(str(n), f"text {n}", n % 3) for n in range(7)]
    assert floors("sst", Splits(train, [], train), "test")["always class 0"].tolist() == [0.0] * 7
    assert set(floors("sts", Splits(pairs([1, 2]), [], pairs([3])), "test")) == {"word overlap"}
    assert floors("para", Splits([], [], pairs([1, 0])), "test") == {}  # nothing is known of train


def test_in_folds_each_fold_has_its_own_most_frequent_class():
    rows = pairs([1, 1, 0, 0, 0])
    folds = (Splits(rows[2:], [], rows[:2]), Splits(rows[:2], [], rows[2:]))
    found = floors("paraphrase", Splits(rows, [], [], OWN["paraphrase"], folds), "all")
    assert found["always no"].tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (cosine_row("sts", "none", False), "the cosine"),
        (cosine_row("sts", "sup", True), "the cosine (sup)"),
        (cosine_row("para", "sup", True), "a threshold on the cosine (sup)"),
        ("always no", "always answering no"),
        ("word overlap", "word overlap"),
    ],
)
def test_names_in_words(name, words):
    assert is_floor(name) and in_words(name) == words
    assert not is_floor("none-bi-frozen-interaction") and not is_floor("mini+sup-cross-full-cls")
    for encoder in ("cosine-model", "cosine", "always mine"):
        assert not is_floor(f"{encoder}+none-bi-frozen-interaction")


def test_numbers_as_labels_are_yes_and_no_and_words_are_kept():
    from dataclasses import replace

    for words, name in ((("0", "1"), "always no"), (("other", "same"), "always other")):
        record = replace(OWN["paraphrase"], words=words)
        found = floors("paraphrase", Splits(pairs([0, 0, 1]), [], pairs([1]), record), "test")
        assert name in found and isinstance(found[name], np.ndarray)
