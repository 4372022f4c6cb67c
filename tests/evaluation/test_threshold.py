"""Thresholds: chosen on one half of labelled pairs, measured on the other, no text in both."""

import numpy as np
import pytest

from data.examples import DataError, SentencePair
from data.pairs import read_labelled
from data.tasks import OWN
from evaluation.threshold import Share, Threshold, _best, _share, _split, find_threshold


def pairs_of(labels) -> list[SentencePair]:
    """Return pairs that share no text."""
    return [SentencePair(str(n), f"a {n}", f"b {n}", float(y)) for n, y in enumerate(labels)]


def test_the_best_f1_and_the_lowest_threshold_of_a_precision():
    steps = np.array([9000, 8000, 7000, 6000, 5000, 1000.0])
    labels = np.array([1, 1, 0, 1, 0, 0], bool)
    assert _best(steps, labels, None, "f") == 5500  # 3 right of 4 called: F1 6/7
    assert _best(steps, labels, 1.0, "f") == 7500
    assert _best(steps, labels, 0.75, "f") == 5500
    assert _best(steps, labels, 0.1, "f") == 1000  # all are called
    with pytest.raises(DataError, match=r"f: precision 0\.9 is not reached; the highest is 0\.500"):
        _best(np.array([3.0, 3.0, 1.0]), np.array([True, False, False]), 0.9, "f")


def test_what_is_printed_is_what_calling_by_the_printed_number_gives():
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 400)
    scores = draw.normal(0.5 + 0.2 * labels, 0.15)
    pairs = pairs_of(labels)
    found = find_threshold(pairs, scores, 0.8, "f")
    chooses = _split(labels > 0, np.arange(400), "f")
    rest = ~chooses
    called = scores[rest] >= float(f"{found.threshold:.4f}")
    right = (called & (labels[rest] > 0)).sum()
    assert found.precision.value == pytest.approx(right / called.sum())
    assert found.recall.value == pytest.approx(right / labels[rest].sum())
    for share in (found.precision, found.recall):
        assert share.interval.low < share.value < share.interval.high
    called = scores[chooses] >= found.threshold
    assert (labels[chooses][called] > 0).mean() >= 0.8
    assert (found.chosen_on, found.measured_on) == (chooses.sum(), rest.sum())
    assert found.table("x").splitlines()[1].startswith(f"{found.threshold:.4f}")


def test_halves_share_no_text_and_hold_both_labels():
    draw = np.random.default_rng(1)
    clusters, labels = draw.integers(0, 40, 300), draw.integers(0, 2, 300) > 0
    chooses = _split(labels, clusters, "f")
    assert not set(clusters[chooses]) & set(clusters[~chooses])
    assert 130 < chooses.sum() < 170 and 0.4 < labels[chooses].mean() < 0.6
    with pytest.raises(DataError, match="f: 300 of the 300 pairs are connected by shared texts"):
        _split(labels, np.zeros(300, int), "f")


@pytest.mark.parametrize(("positives", "kind"), [(9, "positive"), (91, "negative")])
def test_too_few_of_a_label_are_refused(positives, kind):
    labels = np.arange(100) < positives
    with pytest.raises(
        DataError, match=rf"f: 9 {kind} pair\(s\), expected at least 10; label more"
    ):
        find_threshold(pairs_of(labels), labels.astype(float), None, "f")


def test_shares_that_are_all_right_or_undefined():
    right = np.ones(20, bool)
    share = _share(right, right, np.arange(20))
    assert share.value == 1 and share.interval.low == pytest.approx(0.025 ** (1 / 20))
    assert str(_share(~right, ~right, np.arange(20))) == "-"


def test_few_pairs_and_a_precision_that_was_missed_are_warned_of():
    made = Threshold(0.5, Share(0.72, None, 25), Share(1.0, None, 3), 100, 100, wished=0.8)
    assert made.warnings == [
        "warning: recall is measured on 3 pair(s); label more",
        "warning: precision 0.8 was reached where the threshold was chosen, and 0.720 on the "
        "others; give a higher --precision, or label more",
    ]
    assert Threshold(0.5, Share(0.9, None, 25), Share(1.0, None, 30), 9, 9, 0.8).warnings == []
    assert made.table("best F1").endswith("or label more")


ROWS = "the cat\ta cat\t{}\na dog\tthe old dog\t{}\nold cat\tthe dog\t{}\n"


def test_labels_are_numbers_words_or_scores(tmp_path):
    path = tmp_path / "p.tsv"

    def labels(*spelled, **more) -> list[float]:
        path.write_text("sentence1\tsentence2\tlabel\n" + ROWS.format(*spelled))
        return [pair.label for pair in read_labelled(path, OWN["paraphrase"], **more)]

    assert labels("1", "0", "1.0") == [1, 0, 1]
    assert labels("Yes", "no", "yes") == [1, 0, 1]
    assert labels("4.5", "3.9", "4", at=4) == [1, 0, 1]
    assert labels("4,5", "3,9", "4", at=4) == [1, 0, 1]
    assert labels("1", "", "0") == labels("1", "NaN", "0") == [1, 0]
    for spelled, more, told in (
        (("1", "2", "0"), {}, "p.tsv:3: label '2', expected 0 or 1, yes or no; give --at SCORE"),
        (
            ("1", "perhaps", "0"),
            {},
            "p.tsv:3: label 'perhaps', expected 0 or 1, yes or no; correct",
        ),
        (("1", "yes", "0"), {"at": 1}, "p.tsv:3: label 'yes', expected a score; correct"),
        (("", "", ""), {}, "3 row(s) without a label (first: line 2), and no others"),
    ):
        with pytest.raises(DataError) as error:
            labels(*spelled, **more)
        assert told in str(error.value)
