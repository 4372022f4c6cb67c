"""The bundled files: same bytes everywhere, readable, balanced, labelled right, not too easy."""

import collections
import csv
import hashlib
import re

import pytest

from benchmarks.bundled import baselines, read
from data.bundled import VERSION
from data.bundled.generate import SENTENCES, SIZES, TRIPLETS
from data.bundled.renderings import patterns
from data.bundled.vocabulary import lexicon
from data.readers.sentences import iter_sentences
from data.readers.triplets import iter_triplets
from data.tasks import TASKS, read_task

# Of names and contents: of the thirteen files, and of all. A change of any byte is a new VERSION.
THIRTEEN = "dac1b629434f5586c8d7524feae28005c4978db4d8e20db4a40a9863a410cbc5"
ALL = "333ff46c49643b9ffad17e33de3b03e4b55c0e0e458566e8ad14e71260239ece"
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


def digest_of(folder, paths):
    digest = hashlib.sha256()
    for path in sorted(paths):
        name = path.relative_to(folder).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def test_the_bytes_are_the_same_everywhere(folder):
    note = f"{VERSION} has changed: raise VERSION, note the digest"
    tasks = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".tsv"]
    assert len(tasks) == 13 and digest_of(folder, tasks) == THIRTEEN, note
    everything = [path for path in folder.rglob("*") if path.is_file()]
    assert len(everything) == 27 and digest_of(folder, everything) == ALL, note


def test_the_readers_of_the_project_accept_the_files(folder):
    for task, sizes in SIZES.items():
        splits = read_task(folder, task)
        assert (len(splits.train), len(splits.dev), len(splits.test)) == sizes
        assert all(example.label is not None for example in splits.test)
    assert sum(1 for _ in iter_sentences(folder / "wiki1m_for_simcse.txt")) == SENTENCES
    triplets = list(iter_triplets(folder / "nli_for_simcse.csv"))
    assert len(triplets) == TRIPLETS and all(triplet.hard_negative for triplet in triplets)


def test_every_row_has_an_id_of_its_own_and_a_phenomenon(folder, rows):
    everything = [row for parts in rows.values() for part in parts for row in part]
    ids = [row["id"] for row in everything]
    assert len(set(ids)) == len(ids) and all(re.fullmatch("[0-9a-f]{25}", i) for i in ids)
    assert all(row["phenomenon"] for row in everything)
    for name, size in (("wiki1m", SENTENCES), ("nli", TRIPLETS)):
        tags = (folder / f"{name}_phenomena.txt").read_text(encoding="utf-8").splitlines()
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
        for low, high in ((0, 1.5), (1.5, 2.75), (2.75, 3.75), (3.75, 4.5), (4.5, 5.1)):
            assert sum(low <= score < high for score in scores) > 0.08 * len(scores)


def test_no_text_of_one_part_stands_in_another(folder, rows):
    parts = [texts_of(rows, part) for part in (0, 1, 2)]
    parts[0] |= set(iter_sentences(folder / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(folder / "nli_for_simcse.csv"):
        parts[0] |= {triplet.anchor, triplet.positive, str(triplet.hard_negative)}
    assert not parts[0] & parts[1] and not parts[0] & parts[2] and not parts[1] & parts[2]


def test_held_out_words_stand_in_their_part_only(folder, rows):
    seen = [set(words(" ".join(texts_of(rows, part)))) for part in (0, 1, 2)]
    for path in ("wiki1m_for_simcse.txt", "nli_for_simcse.csv"):
        seen[0] |= set(words((folder / path).read_text(encoding="utf-8")))
    for here, other, part in ((1, 2, "dev"), (2, 1, "test")):
        held = {token.lower() for token in lexicon().held_tokens(part)}
        assert not held & seen[0] and not held & seen[other]
        assert len(held & seen[here]) > 80


def test_the_columns_are_those_of_cs224n(folder):
    with open(folder / "sts-train.csv", encoding="utf-8", newline="") as file:
        header = next(csv.reader(file, delimiter="\t"))
    assert header == ["", "id", "sentence1", "sentence2", "similarity", "phenomenon"]


# --- the language


def test_the_lexicon_and_the_grammar_are_no_toys(folder):
    assert len(lexicon().content_words()) >= 5000
    assert len(lexicon().domains) >= 40
    tags = (folder / "wiki1m_phenomena.txt").read_text(encoding="utf-8").splitlines()
    counts = collections.Counter(tags)
    assert len(patterns()) >= 60
    assert [p.name for p in patterns() if not counts[p.name]] == []
    assert sum(counts[pattern.name] >= 20 for pattern in patterns()) >= 60


def test_sentences_are_well_formed(folder):
    for text in iter_sentences(folder / "wiki1m_for_simcse.txt"):
        assert text[0].isupper() or text[0].isdigit()
        assert not re.search(r"[{}_*]|  | [,.;?]|\b(\w+) \1\b(?<!had had)", text), text
        assert not re.search(r"\b[Aa] (?!one)[aeio]\w|\b[Aa]n [bcdfgjklmnpqrstvwyz]", text), text


# --- the tasks


def test_swapped_roles_have_the_same_words(rows):
    kinds = {"role swap", "agent exchange", "symmetric verb", "clause order"}
    pairs = [row for part in rows["para"] for row in part if row["phenomenon"] in kinds]
    assert len(pairs) > 1000
    assert all(bag(row["sentence1"]) == bag(row["sentence2"]) for row in pairs)
    positive = sum(row["is_duplicate"] == "1.0" for row in pairs)
    assert 0.2 < positive / len(pairs) < 0.5  # so the bag does not give the label away


@pytest.mark.parametrize(
    ("phenomenon", "low", "high"),
    [
        ("paraphrase", 4.3, 5.0), ("passive", 4.6, 5.0), ("synonym", 4.5, 5.0),
        ("modifier", 3.9, 4.5), ("hypernym", 3.6, 4.4), ("number", 3.1, 3.9),
        ("place", 3.1, 3.9), ("role swap", 2.2, 2.9), ("negation", 2.2, 2.9),
        ("other verb", 2.0, 3.2), ("two differences", 1.0, 2.4), ("same topic", 0.7, 1.5),
        ("unrelated", 0.0, 0.6),
    ],
)  # fmt: skip
def test_scores_by_phenomenon(rows, phenomenon, low, high):
    found = [row for part in rows["sts"] for row in part if row["phenomenon"] == phenomenon]
    scores = [float(row["similarity"]) for row in found]
    assert len(scores) >= 50 and low <= sum(scores) / len(scores) <= high


def test_no_baseline_without_word_order_solves_a_task(folder):
    for (task, name), scores in baselines(folder).items():
        assert max(scores) < HARD, (task, name)
        if name == "TF-IDF, linear":
            assert min(scores) > 0.5, (task, "the labels follow from the texts")
