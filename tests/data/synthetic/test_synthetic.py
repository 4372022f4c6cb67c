"""The bundled files: balanced, labelled right, not too easy."""

import collections
import re

import pytest

from data.sentences import iter_sentences
from data.synthetic.generate import SENTENCES, TRIPLETS
from data.synthetic.probes.baselines import baselines, read
from data.synthetic.renderings import patterns
from data.synthetic.vocabulary import lexicon
from data.tables import read_header
from data.tasks import TASKS
from data.triplets import iter_triplets

pytestmark = pytest.mark.synthetic

HARD = 0.85  # what no baseline without word order may reach


@pytest.fixture(scope="module")
def folder(bundled_data):
    return bundled_data


@pytest.fixture(scope="module")
def rows(folder):
    """Return {task: [train, dev, test]}, the rows with all their columns."""
    return {task: read(folder, task) for task in TASKS}


def texts(row):
    return [row[name] for name in ("sentence", "sentence1", "sentence2") if name in row]


def texts_of(rows, part):
    return {text for tasks in rows.values() for row in tasks[part] for text in texts(row)}


def words(text):
    return re.findall(r"[\w']+", text.lower())


def bag(text):
    return collections.Counter(words(text))


# --- the files


def test_every_row_has_an_id_of_its_own_and_a_phenomenon(folder, rows):
    everything = [row for parts in rows.values() for part in parts for row in part]
    ids = [row["id"] for row in everything]
    assert len(set(ids)) == len(ids) and all(re.fullmatch("[0-9a-f]{25}", i) for i in ids)
    assert all(row["phenomenon"] for row in everything)
    for name, size in (("wiki1m", SENTENCES), ("nli", TRIPLETS)):
        tags = list(iter_sentences(folder / f"{name}_phenomena.txt"))
        assert len(tags) == size and all(tags)


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


def test_no_text_of_one_part_stands_in_another(folder, rows):
    parts = [texts_of(rows, part) for part in (0, 1, 2)]
    parts[0] |= set(iter_sentences(folder / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(folder / "nli_for_simcse.csv"):
        parts[0] |= {triplet.anchor, triplet.positive, str(triplet.hard_negative)}
    assert not parts[0] & parts[1] and not parts[0] & parts[2] and not parts[1] & parts[2]


def test_held_out_words_stand_in_their_part_only(folder, rows):
    seen = [set(words(" ".join(texts_of(rows, part)))) for part in (0, 1, 2)]
    for path in ("wiki1m_for_simcse.txt", "nli_for_simcse.csv"):
        seen[0] |= set(words(" ".join(iter_sentences(folder / path))))
    for here, other, part in ((1, 2, "dev"), (2, 1, "test")):
        held = {token.lower() for token in lexicon().held_tokens(part)}
        assert not held & seen[0] and not held & seen[other]
        assert len(held & seen[here]) > 80


def test_the_columns_are_those_of_cs224n(folder):
    header = read_header(folder / "sts-train.csv", "\t")
    assert header == ["", "id", "sentence1", "sentence2", "similarity", "phenomenon"]


# --- the language


def test_the_lexicon_and_the_grammar_are_no_toys(folder):
    assert len(lexicon().content_words()) >= 5000
    assert len(lexicon().domains) >= 40
    tags = list(iter_sentences(folder / "wiki1m_phenomena.txt"))
    counts = collections.Counter(tags)
    assert len(patterns()) >= 200
    assert sum(not counts[pattern.name] for pattern in patterns()) <= 3
    assert sum(counts[pattern.name] >= 20 for pattern in patterns()) >= 120


def test_sentences_are_well_formed(folder):
    texts = list(iter_sentences(folder / "wiki1m_for_simcse.txt"))
    lower = sum(text == text.lower() for text in texts)
    assert 0.05 < lower / len(texts) < 0.15  # as some people type
    for text in texts:
        assert text[0].isupper() or text[0].isdigit() or text == text.lower()
        assert not re.search(r"[{}_*]|  | [,.;?]|\b(\w+) \1\b(?<!had had)", text), text
        assert not re.search(
            r"\b[Aa] (?!one|once-)[aeio]\w|\b[Aa]n [bcdfgjklmnpqrstvwyz]\w", text
        ), text


# --- the tasks


def test_pairs_of_the_same_words_do_not_tell_the_label(rows):
    pairs = [row for part in rows["para"] for row in part]
    same = [row for row in pairs if bag(row["sentence1"]) == bag(row["sentence2"])]
    assert len(same) > 100
    assert {row["phenomenon"] for row in same} >= {"role swap", "adjective swap", "agent exchange"}
    positive = sum(row["is_duplicate"] == "1.0" for row in same)
    assert 0.3 < positive / len(same) < 0.5  # 0.4 of all pairs are duplicates


@pytest.mark.parametrize(
    ("phenomenon", "low", "high"),
    [
        ("same meaning", 4.2, 5.0), ("detail", 3.4, 4.3), ("hypernym", 3.3, 4.2),
        ("same class", 2.3, 3.3), ("negation", 2.4, 3.4), ("other verb", 1.7, 2.7),
        ("several parts", 1.4, 2.4), ("same topic", 0.6, 1.4), ("unrelated", 0.0, 0.7),
    ],
)  # fmt: skip
def test_scores_by_phenomenon(rows, phenomenon, low, high):
    found = [row for part in rows["sts"] for row in part if row["phenomenon"] == phenomenon]
    scores = [float(row["similarity"]) for row in found]
    assert len(scores) >= 50 and low <= sum(scores) / len(scores) <= high


def test_no_baseline_without_word_order_solves_a_task(folder):
    for (task, name), scores in baselines(folder).items():
        assert max(scores) < HARD, (task, name)
        if name == "TF-IDF, linear":  # of five classes, chance is 0.2
            least = 0.35 if task == "sst" else 0.5
            assert min(scores) > least, (task, "the labels follow from the texts")
