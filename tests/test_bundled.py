"""The bundled data set: same bytes everywhere, readable, balanced, labelled right, not too easy."""

import collections
import csv
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from data.cs224n import TASK_FILES, read_task
from data.simcse import iter_sentences, iter_triplets

from benchmarks.bundled import baselines, read
from data.bundled import VERSION, write
from data.bundled.__main__ import main
from data.bundled.edits import negate, reword, swap_roles
from data.bundled.frames import Frame, Phrase
from data.bundled.generate import SENTENCES, SIZES, TRIPLETS
from data.bundled.grammar import say
from data.bundled.morphology import article, gerund, participle, past, plural, third_person
from data.bundled.renderings import patterns, renderings
from data.bundled.sampling import draw_frame, kept
from data.bundled.scores import similarity
from data.bundled.sentiment import opinion
from data.bundled.vocabulary import lexicon

# Of all files, names and contents. A change of any byte is a new VERSION.
DIGEST = "dac1b629434f5586c8d7524feae28005c4978db4d8e20db4a40a9863a410cbc5"
HARD = 0.85  # what no baseline without word order may reach


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundled")
    write(path)
    return path


@pytest.fixture(scope="module")
def rows(folder):
    """Return {task: [train, dev, test]}, the rows with all their columns."""
    return {task: read(folder, task) for task in TASK_FILES}


def texts(row):
    return [row[name] for name in ("sentence", "sentence1", "sentence2") if name in row]


def texts_of(rows, part):
    return {text for tasks in rows.values() for row in tasks[part] for text in texts(row)}


def words(text):
    return re.findall(r"[\w']+", text.lower())


def bag(text):
    return collections.Counter(words(text))


# --- the files


def test_the_bytes_are_the_same_everywhere(folder):
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    assert digest.hexdigest() == DIGEST, f"{VERSION} has changed: raise VERSION, note the digest"


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


def test_deeds_are_held_out_too():
    random = Random(1)
    assert not any(kept(draw_frame(random, "train")) for _ in range(500))
    assert sum(kept(draw_frame(random, "test")) for _ in range(500)) > 20


# --- the language


@pytest.mark.parametrize(
    ("function", "word", "expected"),
    [
        (plural, "knife", "knives"), (plural, "cup of tea", "cups of tea"),
        (plural, "salesman", "salesmen"), (plural, "puppy", "puppies"), (plural, "bus", "buses"),
        (plural, "bread knife", "bread knives"), (plural, "sheep", "sheep"),
        (third_person, "carry", "carries"), (third_person, "watch over", "watches over"),
        (third_person, "do", "does"), (past, "stop", "stopped"), (past, "cut up", "cut up"),
        (past, "open", "opened"), (past, "mimic", "mimicked"), (past, "try on", "tried on"),
        (participle, "steal", "stolen"), (participle, "wake up", "woken up"),
        (gerund, "bake", "baking"), (gerund, "hit", "hitting"), (gerund, "flee", "fleeing"),
        (gerund, "forget", "forgetting"), (gerund, "visit", "visiting"),
        (article, "hour", "an hour"), (article, "honest man", "an honest man"),
        (article, "unicycle", "a unicycle"), (article, "x-ray machine", "an x-ray machine"),
        (article, "old-fashioned hat", "an old-fashioned hat"), (article, "user", "a user"),
    ],
)  # fmt: skip
def test_morphology(function, word, expected):
    assert function(word) == expected


@pytest.fixture(scope="module")
def slicing():
    verb = next(verb for verb in lexicon().domains["kitchen"] if verb.word == "slice")
    chef = next(noun for noun in verb.agents if noun.word == "chef")
    onion = next(noun for noun in verb.patients if noun.word == "onion")
    return Frame("kitchen", verb, "slice", Phrase(chef, "chef"), Phrase(onion, "onion", 2, False))


def said(frame, name):
    return say(frame, next(pattern for pattern in renderings(frame) if pattern.name == name))


def test_renderings_of_one_frame(slicing):
    assert said(slicing, "active") == "The chef sliced two onions."
    assert said(slicing, "passive") == "Two onions were sliced by the chef."
    assert said(slicing, "what cleft") == "What the chef sliced were two onions."
    now = replace(slicing, tense="now", place="in the kitchen")
    assert said(now, "caption") == "The chef slicing two onions in the kitchen"
    assert said(now, "place cleft") == "It is in the kitchen that the chef is slicing two onions."
    ask = replace(slicing, mood="why", negated=True)
    assert said(ask, "why question") == "Why did the chef not slice two onions?"
    future = replace(slicing, tense="future")
    assert said(future, "passive") == "Two onions will be sliced by the chef."


def test_only_what_can_act_changes_roles(slicing):
    assert swap_roles(slicing, Random(0), "train") is None
    frame = draw_frame(Random(0), "train", swappable=True)
    swapped = swap_roles(frame, Random(0), "train")
    assert swapped and swapped.agent == frame.patient and swapped.patient == frame.agent


def test_scores_follow_what_changed(slicing):
    assert similarity(slicing, slicing) == 5.0
    assert 2 <= similarity(slicing, negate(slicing, Random(0), "train")) <= 3
    place = [replace(slicing, place=where) for where in ("in the kitchen", "at the market", "")]
    assert 3 <= similarity(place[0], place[1]) <= 4 < similarity(place[0], place[2]) < 5
    other = draw_frame(Random(3), "train", "sea")
    assert similarity(slicing, other) < 0.5


def test_the_lexicon_and_the_grammar_are_no_toys(folder):
    assert len(lexicon().content_words()) >= 1500
    assert len(lexicon().domains) >= 12
    tags = (folder / "wiki1m_phenomena.txt").read_text(encoding="utf-8").splitlines()
    counts = collections.Counter(tags)
    assert len(patterns()) >= 60
    assert [p.name for p in patterns() if not counts[p.name]] == []
    assert sum(counts[pattern.name] >= 20 for pattern in patterns()) >= 60


def test_adjectives_and_verbs_know_their_class():
    for nouns in lexicon().kinds.values():
        for noun in nouns:
            assert all(group in lexicon().adjectives for group in noun.groups), noun.word
    for verbs in lexicon().domains.values():
        for verb in verbs:
            assert verb.agents and all(group in lexicon().adverbs for group in verb.manners)


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


def test_synonyms_cost_nothing():
    random, changed = Random(4), 0
    for _ in range(2000):
        frame = draw_frame(random, "train")
        other = reword(frame, random, 0.9)
        changed += other.place != frame.place
        assert similarity(frame, other) == similarity(other, frame) == 5.0, (frame, other)
    assert changed > 50


def test_opinions_are_composed():
    random = Random(2)
    kinds = collections.defaultdict(list)
    for _ in range(3000):
        found = opinion(random, "train")
        kinds[found.phenomenon].append(found)
    assert set(kinds) >= {"intensity", "negation", "contrast", "mixed", "expectation"}
    for found in kinds["negation"]:
        if re.search(r" not (good|nice|pleasant)\.", found.text):
            assert found.value < -0.5
    assert all(found.value == 0 for found in kinds["mixed"])
    assert all(abs(found.value) <= 2 for many in kinds.values() for found in many)


def test_no_baseline_without_word_order_solves_a_task(folder):
    for (task, name), scores in baselines(folder).items():
        assert max(scores) < HARD, (task, name)
        if name == "TF-IDF, linear":
            assert min(scores) > 0.5, (task, "the labels follow from the texts")


# --- the command line


def test_the_command_writes_and_says_where(monkeypatch, tmp_path, capsys):
    calls = []
    monkeypatch.setattr("data.bundled.__main__.write", lambda out, seed: calls.append((out, seed)))
    assert main(["--out", str(tmp_path), "--seed", "3"]) == 0
    assert calls == [(tmp_path, 3)]
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"files are in {tmp_path}")


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("here already")
    assert main(["--out", str(blocked)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and str(blocked) in error and "--out" in error
    assert blocked.read_text() == "here already"


def test_an_interrupted_run_leaves_nothing(monkeypatch, tmp_path):
    def breaks(folder, seed):
        (folder / "half.txt").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("data.bundled.generate._write_all", breaks)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_is_one_line(monkeypatch, tmp_path, capsys):
    def breaks(folder, seed):
        raise KeyboardInterrupt

    monkeypatch.setattr("data.bundled.__main__.write", breaks)
    assert main(["--out", str(tmp_path)]) == 130
    assert "again" in capsys.readouterr().err


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "python -m data.bundled --out bundled" in capsys.readouterr().out


def test_the_columns_are_those_of_cs224n(folder):
    with open(folder / "sts-train.csv", encoding="utf-8", newline="") as file:
        header = next(csv.reader(file, delimiter="\t"))
    assert header == ["", "id", "sentence1", "sentence2", "similarity", "phenomenon"]
