"""Faults of files that people have, by kind; for each, what is right."""

import gzip
import json
import os

import numpy as np
import pytest
from reading import error_of

from data.examples import DataError
from data.overlap import MOST_DIGESTS, Seen
from data.pairs import marks_unknown, read_labelled, read_pairs
from data.sentences import iter_sentences
from data.table import Column, open_table, open_texts
from data.tasks import OWN

WORDS = ("kite", "harbour", "lantern", "meadow", "ferry", "anchor", "cellar", "orchard")


def written(path, text, encoding="utf-8"):
    path.write_text(text, encoding=encoding)
    return path


def texts_of(path):
    return [row["text"].strip() for _, row in open_texts(path).rows()]


# --- files of texts

READ = {
    "a data frame's index": (',text\n0,A kite.\n1,"Rain, sun."\n', ["A kite.", "Rain, sun."]),
    "a column of sent0": ('sent0\n"A kite."\n"Rain, sun."\n', ["A kite.", "Rain, sun."]),
    "commas of sentences": ("Hello, you.\nYes, me.\n", ["Hello, you.", "Yes, me."]),
    "a link of a wiki": ("[[Berlin]] is a city\nx\n", ["[[Berlin]] is a city", "x"]),
    "a list in a sentence": ('["Hello"] he said\nx\n', ['["Hello"] he said', "x"]),
    "the magic word of Parquet": ("PAR1 is a receptor\nx\n", ["PAR1 is a receptor", "x"]),
    "that of bzip2": ("BZh91AY&SY is a word\nx\n", ["BZh91AY&SY is a word", "x"]),
}


@pytest.mark.parametrize("name", READ)
def test_texts_are_read(tmp_path, name):
    text, expected = READ[name]
    assert texts_of(written(tmp_path / "texts", text)) == expected


ROWS = {
    "bars": ("2 ||| A kite .\n3 ||| Rain .\n", "2 fields with a ||| between them"),
    "csv without a header": ('0,A kite.\n1,"Rain, sun."\n', "2 fields with a comma between"),
    "triplets": ("sent0,sent1,hard_neg\na b,c d,e f\n", "3 fields with a comma between them"),
    "semicolons": ("1;A kite.\n2;Rain.\n", "2 fields with a semicolon between them"),
    "nearly all lines": ("1\tA kite.\n" * 30 + "A line.\n", "2 fields with a tab between them"),
    "a JSON array": ('[{"text": "a"},\n{"text": "b"}]\n', "JSON that is not one object per line"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_table_are_no_texts(tmp_path, name):
    text, told = ROWS[name]
    path = written(tmp_path / "texts", text)
    error = error_of(iter_sentences, path)
    assert error.startswith(f"{path}:1: ") and told in error
    if "fields with" in told:  # the remedies work
        assert "if each line is a text, write text above the first" in error
        written(path, f"text\n{text}")
        assert len(list(iter_sentences(path))) == text.count("\n")


def test_lines_with_bars_become_a_table_by_the_command_of_the_message(tmp_path):
    path = written(tmp_path / "texts", ROWS["bars"][0])
    command = error_of(iter_sentences, path).split("column text; ")[1].split(" writes tabs")[0]
    assert os.system(command) == 0
    table = open_table(tmp_path / "texts.tsv", [Column("text")], named=["2"])
    assert [row["text"] for _, row in table.rows()] == ["A kite .", "Rain ."]


def test_half_a_character_is_refused_with_its_line(tmp_path):
    lines = ['{"text": "A kite."}'] * 40 + ['{"text": "\\ud83d"}']
    path = written(tmp_path / "t.jsonl", "\n".join(lines))
    assert f"{path}:41: 'text' is no valid Unicode" in error_of(iter_sentences, path)
    path = written(tmp_path / "i.jsonl", '{"text": 1e400}\n')
    assert f"{path}:1: 'text' is a number of no finite size" in error_of(iter_sentences, path)


# --- tables


def rows_of(path):
    return [(row["sentence1"], row["sentence2"]) for _, row in open_table(path, PAIR).rows()]


PAIR = (Column("sentence1"), Column("sentence2"))
HEADER = "sentence1\tsentence2\n"


def test_a_few_rows_of_another_width_are_left_out_and_many_are_refused_once(tmp_path, caplog):
    good = "a kite\ta dog\n"
    path = written(tmp_path / "t.tsv", HEADER + good * 150 + "a\tb\tc\n" + good * 149)
    assert len(rows_of(path)) == 299
    assert (
        "t.tsv: 1 row(s) without 2 tab-separated fields (first: line 152); left out" in caplog.text
    )
    path = written(tmp_path / "t.tsv", HEADER + good * 5 + "a\tb\tc\n" * 4 + "a\n" + good)
    error = error_of(rows_of, path)
    assert f"{path}:7: 3 tab-separated field(s), expected 2; 5 of 11 rows have another" in error
    assert "(lines 7, 8, 9)" in error


def test_further_columns_of_a_table_without_a_header_are_left_alone(tmp_path):
    """The official STS-Benchmark has two columns more in some rows."""
    path = written(tmp_path / "sts.tsv", "x\ty\ta kite\ta dog\nx\ty\tsun\train\tlicence\tmore\n")
    rows = open_table(path, PAIR, named=["3", "4"]).rows()
    assert [row["sentence2"] for _, row in rows] == ["a dog", "rain"]


def test_texts_written_as_bytes_are_decoded(tmp_path, caplog):
    path = written(tmp_path / "t.tsv", HEADER + "b'A caf\\xc3\\xa9.'\tb\"It's.\"\n" * 3)
    assert rows_of(path) == [("A café.", "It's.")] * 3
    assert "written as b'...'; they are decoded" in caplog.text
    path = written(tmp_path / "t.tsv", HEADER + "b'x' is short\tb'y'\n" * 3)
    assert rows_of(path)[0] == ("b'x' is short", "y")


# --- labels


def pairs(path, labels, ids=False):
    lines = [
        f"{at} {WORDS[at % 8]}\t{WORDS[at % 7]} {at}\t{label}" for at, label in enumerate(labels)
    ]
    return str(written(path, "sentence1\tsentence2\tlabel\n" + "\n".join(lines) + "\n"))


def everything(splits):
    return [*splits.train, *splits.dev, *splits.test]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0", "1"] * 50 + ["-1"] * 5, True),
        (["0", "1"] * 50 + ["-1.0"] * 2, True),
        (["0.5", "3", "5"] * 30 + ["-1"], True),
        (["yes", "no"] * 50 + ["-1"], True),
        (["0", "1", "-1"] * 30, False),  # three classes
        (["1"] * 99 + ["-1"], False),  # yes and no
        (["-0.5", "0.5", "0.7"] * 30 + ["-1"], False),  # cosines
        (["0", "1"], False),
    ],
)
def test_when_minus_one_means_unknown(labels, expected):
    assert marks_unknown(labels) is expected


def test_stray_labels_of_minus_one_are_left_out_with_a_count(tmp_path, caplog):
    path = pairs(tmp_path / "t.tsv", ["0", "1"] * 150 + ["-1"] * 10)
    own = read_pairs([path])
    assert own.task.label_kind == "binary" and len(everything(own.splits)) == 300
    told = "10 row(s) with label -1, which means unknown (first: line 302); left out"
    assert told in caplog.text
    caplog.clear()
    task = OWN["paraphrase"]
    assert len(read_labelled(tmp_path / "t.tsv", task)) == 300 and told in caplog.text
    many = pairs(tmp_path / "many.tsv", ["0", "1", "-1"] * 30)
    assert {pair.label for pair in read_labelled(many, task)} == {0.0, 1.0}
    both = pairs(tmp_path / "both.tsv", ["1", "-1"] * 30)
    assert [pair.label for pair in read_labelled(both, task)] == [1.0, 0.0] * 30


def test_what_minus_one_means_is_decided_once_for_all_files(tmp_path):
    """Else a class would be missing from dev and test, or from train."""
    three, rare = ["-1", "0", "1"] * 30, ["0", "1"] * 45 + ["-1"] * 3
    names = ("train", "dev", "test")
    for at, labels in enumerate(((three, rare, rare), (rare, three, three))):
        labels = [[*part, *["0"] * n] for n, part in enumerate(labels)]
        files = [
            pairs(tmp_path / f"{n}{at}.tsv", part) for n, part in zip(names, labels, strict=True)
        ]
        own = read_pairs(files, task="classes")
        assert own.task.num_classes == 3
        assert [len(part) for part in (own.splits.train, own.splits.dev)] == [
            len(part) for part in labels[:2]
        ]


def test_thresholds_take_the_labels_of_the_runs_tables_and_leave_out_rows_without_a_text(
    tmp_path, caplog
):
    path = pairs(tmp_path / "t.tsv", ["original", "duplicate"] * 30)
    own = read_pairs([path])
    with open(path, "a") as file:
        file.write("a kite\t\toriginal\n")
    found = read_labelled(path, own.task)
    assert own.task.words == ("original", "duplicate")
    assert [pair.label for pair in found] == [0.0, 1.0] * 30
    assert "1 row(s) without a text (first: line 62); left out" in caplog.text


@pytest.mark.parametrize("labels", [["0", "1e301", "3e300"], ["0.5", "0.5000001", "0.5000002"]])
def test_scores_of_an_extreme_range_are_refused_with_a_remedy(tmp_path, labels):
    path = pairs(tmp_path / "t.tsv", labels * 30)
    assert "rescale them, for example to 0 to 1" in error_of(read_pairs, [path])


def test_ids_keep_their_case(tmp_path):
    rows = [f"Q-{n}\t{n} kite\t{n} dog\t{n % 2}" for n in range(60)]
    path = written(tmp_path / "t.tsv", "ID\tsentence1\tsentence2\tlabel\n" + "\n".join(rows))
    found = {row.id for row in everything(read_pairs([str(path)]).splits)}
    assert found == {f"Q-{n}" for n in range(60)}


def test_a_copy_of_the_train_file_is_no_test_file(tmp_path):
    train = pairs(tmp_path / "train.tsv", ["0", "1"] * 30)
    os.link(train, tmp_path / "linked.tsv")
    with gzip.open(tmp_path / "copy.tsv.gz", "wt") as file:
        file.write((tmp_path / "train.tsv").read_text())
    for other in ("linked.tsv", "copy.tsv.gz"):
        error = error_of(read_pairs, [train, str(tmp_path / other)])
        assert f"{other}: has the content of {train}" in error


# --- notes of others


def test_a_bomb_of_digests_is_refused(tmp_path, monkeypatch):
    import lzma

    path = tmp_path / "bomb.digests.xz"
    with lzma.open(path, "w", preset=0) as file:
        for _ in range(MOST_DIGESTS >> 24):
            file.write(bytes(2**24))
        file.write(b"more")
    with pytest.raises(DataError, match="more than 256 MB of digests"):
        Seen().add_digests(path)


def test_notes_that_name_their_own_folder_are_read_once(tmp_path):
    from simcse.stage import note_stages

    texts = written(tmp_path / "texts.txt", "A kite.\nRain.\n")
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, other in ((one, two), (two, one)):
        folder.mkdir()
        notes = {"trained_on": str(texts), "backbone": str(other)}
        (folder / "training.json").write_text(json.dumps(notes))
    seen = Seen()
    note_stages(one, seen)
    assert isinstance(seen.texts, np.ndarray) and len(seen.texts) == 2
