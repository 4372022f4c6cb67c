"""The files: balanced, labelled right, without shortcuts, not too easy."""

import collections
import re

import pytest

from data.locate import BUNDLED
from data.sentences import iter_sentences
from data.suites import read_hans, read_nli, read_sts_set, read_transfer_set
from data.synthetic.probes.baselines import baselines, read
from data.synthetic.vocabulary import lexicon
from data.tasks import COURSE, read_task
from data.triplets import iter_triplets

pytestmark = pytest.mark.synthetic

HARD = 0.85  # what no baseline without word order may reach


@pytest.fixture(scope="module")
def rows():
    """Return {task: [train, dev, test]}, the rows with all their columns."""
    return {task: read(BUNDLED, task) for task in COURSE}


def texts(row):
    return [row[name] for name in ("sentence", "sentence1", "sentence2") if name in row]


def texts_of(rows, part):
    return {text for tasks in rows.values() for row in tasks[part] for text in texts(row)}


def words(text):
    return re.findall(r"[\w']+", text.lower())


def test_labels_are_in_range_and_balanced(rows):
    for part in rows["sst"]:
        counts = collections.Counter(row["sentiment"] for row in part)
        assert counts == dict.fromkeys("01234", len(part) // 5)
    for part in rows["para"]:
        assert sum(row["is_duplicate"] == "1.0" for row in part) == 0.4 * len(part)
    for part in rows["sts"]:
        scores = [float(row["similarity"]) for row in part]
        assert min(scores) >= 0 and max(scores) <= 5
        for low, high in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5.1)):
            share = sum(low <= score < high for score in scores) / len(scores)
            assert 0.14 < share < 0.26


def test_no_text_of_one_part_stands_in_another(rows):
    parts = [texts_of(rows, part) for part in (0, 1, 2)]
    parts[0] |= set(iter_sentences(BUNDLED / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(BUNDLED / "nli_for_simcse.csv"):
        parts[0] |= {triplet.anchor, triplet.positive, str(triplet.hard_negative)}
    assert not parts[0] & parts[1] and not parts[0] & parts[2] and not parts[1] & parts[2]


def test_held_out_words_stand_in_their_part_only(rows):
    seen = [set(words(" ".join(texts_of(rows, part)))) for part in (0, 1, 2)]
    for path in ("wiki1m_for_simcse.txt", "nli_for_simcse.csv"):
        seen[0] |= set(words(" ".join(iter_sentences(BUNDLED / path))))
    for here, other, part in ((1, 2, "dev"), (2, 1, "test")):
        held = {token.lower() for token in lexicon().held_tokens(part)}
        assert not held & seen[0] and not held & seen[other]
        assert len(held & seen[here]) > 80


def test_no_baseline_without_word_order_solves_a_task():
    for (task, name), scores in baselines(BUNDLED).items():
        assert max(scores) < HARD, (task, name)
        if name == "TF-IDF, linear":  # of five classes, chance is 0.2
            least = 0.35 if task == "sst" else 0.5
            assert min(scores) > least, (task, "the labels follow from the texts")


def test_no_text_of_a_suite_stands_in_what_models_learn_from():
    similar = read_sts_set(BUNDLED, "synthetic-sts").values()
    suites = [read_hans(BUNDLED, "synthetic-hans"), [pair for pairs in similar for pair in pairs]]
    for name in ("polarity", "questions", "paraphrase"):
        splits = read_transfer_set(BUNDLED, f"synthetic-{name}")
        suites.append(splits.test or splits.train)
    learnt = set(iter_sentences(BUNDLED / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(BUNDLED / "nli_for_simcse.csv"):
        learnt |= set(triplet.texts)
    for task in COURSE:
        learnt |= {text for row in read_task(BUNDLED, task).train for text in row.texts}
    learnt |= {text for pair in read_nli(BUNDLED) for text in pair.texts}
    for rows in suites:
        assert not learnt & {text for row in rows for text in row.texts}
