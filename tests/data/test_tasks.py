"""CS224N's three tasks: their files, their records, and the pairs that choose among checkpoints."""

import logging
from functools import partial
from pathlib import Path

import pytest
from conftest import real_data
from reading import error_of, plain_rows, write

from data.examples import DataError, Sentence, SentencePair
from data.overlap import normalise
from data.selection import selection_pairs
from data.tasks import COURSE, official_dev, read_quora, read_sst, read_sts, read_task

STS = "\tid\tsentence1\tsentence2\tsimilarity\n"


def sts_folder(folder: Path) -> Path:
    for name in ("sts-train.csv", "sts-dev.csv"):
        write(folder, STS + f"0\t{name}\tx\ty\t2\n", name)
    return folder


def test_a_folder_without_a_test_file_has_an_empty_test_part(tmp_path):
    splits = read_task(sts_folder(tmp_path), "sts")
    assert [pair.id for pair in splits.train + splits.dev] == ["sts-train.csv", "sts-dev.csv"]
    assert splits.test == []


def test_labels_of_a_labelled_test_file_are_read(tmp_path):
    write(sts_folder(tmp_path), STS + "0\tt\tx\ty\t4\n", "sts-test.csv")
    assert read_task(tmp_path, "sts").test == [SentencePair("t", "x", "y", 4.0, row=0)]
    write(tmp_path, "\tid\tsentence1\tsentence2\n0\tu\tx\ty\n", "sts-test-student.csv")
    assert read_task(tmp_path, "sts").test == [SentencePair("u", "x", "y", None, row=0)]


@pytest.mark.parametrize("name", ["sts-test-student.csv", "sts-test.csv"])
def test_a_link_to_a_test_file_that_is_gone_is_an_error(name, tmp_path):
    (sts_folder(tmp_path) / name).symlink_to(tmp_path / "gone.csv")
    if name == "sts-test-student.csv":  # no other file stands in for it
        write(tmp_path, STS + "0\tt\tx\ty\t4\n", "sts-test.csv")
    assert f"{name}: cannot be read (No such file or directory)" in error_of(
        read_task, tmp_path, "sts"
    )


def test_missing_files_and_folders_name_the_remedy(tmp_path):
    sts_folder(tmp_path)
    (tmp_path / "sts-dev.csv").unlink()
    message = error_of(read_task, tmp_path, "sts")
    remedy = "--pairs FILE (the course's data: --data cs224n)"
    assert message.startswith(f"looked for sts-dev.csv in {tmp_path}: not found")
    assert remedy in message and "download" not in message
    message = error_of(read_task, tmp_path / "nowhere", "sst")
    assert "ids-sst-train.csv and ids-sst-dev.csv" in message and "no such folder" in message
    assert "choose one of sst, para, sts" in error_of(read_task, tmp_path, "nli")


def test_the_records_say_what_cs224n_does():
    assert [
        (task.name, task.num_texts, task.label_kind, task.num_classes, task.prediction_header)
        for task in COURSE.values()
    ] == [
        ("sst", 1, "classes", 5, "Predicted_Sentiment"),
        ("para", 2, "binary", 2, "Predicted_Is_Paraphrase"),
        ("sts", 2, "score", 6, "Predicted_Similiary"),
    ]
    for name, task in COURSE.items():
        assert name == task.name and task.about
        assert task.is_pair == (task.num_texts == 2)
        assert task.main_metric == ("pearson" if name == "sts" else "accuracy")


@pytest.mark.parametrize("task", COURSE.values(), ids=COURSE)
def test_a_records_columns_are_those_its_reader_reads(task, tmp_path):
    fields = [f"text {number}" for number in range(task.num_texts)]
    header, row = ["id", *task.texts], ["a", *fields]
    bare, labelled = tmp_path / "bare.csv", tmp_path / "labelled.csv"
    bare.write_text("\t".join(header) + "\n" + "\t".join(row) + "\n")
    (example,) = task.read(bare, labelled=False)
    assert example.texts == tuple(fields) and example.label is None
    for label in (0, task.largest):
        line = "\t".join([*row, str(label)])
        labelled.write_text("\t".join([*header, task.label]) + f"\n{line}\n")
        (example,) = task.read(labelled)
        assert example.texts == tuple(fields) and example.label == label
    labelled.write_text("\t".join([*header, task.label]) + f"\n{line}1\n")  # 41, 11, 51
    with pytest.raises(DataError, match=task.label):
        task.read(labelled)


# --- the published files


@pytest.mark.parametrize(
    ("read", "name", "rows", "dropped"),
    [
        (read_sst, "ids-sst-train.csv", 8544, 0),
        (read_sst, "ids-sst-dev.csv", 1101, 0),
        (partial(read_sst, num_classes=2), "ids-cfimdb-train.csv", 1707, 0),
        (partial(read_sst, num_classes=2), "ids-cfimdb-dev.csv", 245, 0),
        (read_quora, "quora-train.csv", 12000, 1),
        (read_quora, "quora-dev.csv", 4000, 1),
        (read_sts, "sts-train.csv", 6040, 0),
        (read_sts, "sts-dev.csv", 863, 0),
    ],
)
def test_published_files_equal_a_plain_csv_pass(read, name, rows, dropped, caplog):
    """A row without a label is dropped, and said to be."""
    texts = ("sentence", "sentence1", "sentence2")
    labels = ("sentiment", "is_duplicate", "similarity")
    expected = [
        (
            row["id"].strip().lower(),
            tuple(row[text].strip() for text in texts if text in row),
            *(float(row[label]) for label in labels if label in row),
            int(row[""]) if "similarity" in row else None,
        )
        for row in plain_rows(real_data(f"cs224n/{name}"))
        if row.get("is_duplicate") != ""
    ]
    examples = read(real_data(f"cs224n/{name}"))
    assert [(e.id, e.texts, e.label, getattr(e, "row", None)) for e in examples] == expected
    assert len(examples) == rows - dropped
    assert (f"1 of {rows} rows do not parse" in caplog.text) == bool(dropped)


# --- sentiment


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "\tid\tsentence\tsentiment\n0\t AB1 \t  Two  Blanks , kept \t3\n",
            [Sentence("ab1", "Two  Blanks , kept", 3)],
        ),
        (
            "\tid\tsentence\tsentiment\tphenomenon\n0\ta\tx\t3\tnegation\n1\tb\ty\t3\t\n",
            [Sentence("a", "x", 3, "negation"), Sentence("b", "y", 3)],
        ),
        # The odd header of the published test file.
        ("0\t\tid\tsentence\n1\t0.0\tk1\tA tidy film\n", [Sentence("k1", "A tidy film")]),
    ],
)
def test_sentences_are_stripped_and_ids_lower_cased(content, expected, tmp_path):
    labelled = "sentiment" in content
    assert read_sst(write(tmp_path, content), labelled) == expected


# --- paraphrases


QUORA = "\tid\tsentence1\tsentence2\tis_duplicate\n"


def test_quora_rows_that_do_not_parse_are_dropped_aloud(tmp_path, caplog):
    body = "0\ta\tx\ty\t1.0\n1\tb\tx\n2\tc\tx\ty\t\n3\td\tx\ty\tmaybe\n4\te\tx\ty\t0.0\tsurplus\n"
    path = write(tmp_path, QUORA + body)
    with caplog.at_level(logging.WARNING, "data"):
        pairs = read_quora(path)
    assert pairs == [SentencePair("a", "x", "y", 1.0), SentencePair("e", "x", "y", 0.0)]
    assert f"{path}: 3 of 5 rows do not parse (first: line 3)" in caplog.text


# --- similarity


def test_sts_rows_come_from_the_unnamed_column_when_it_holds_integers(tmp_path):
    body = "".join(f"{row}\tk\tx\ty\t1.5\n" for row in ("5748", "5749", "7248", "7249", "", "a"))
    pairs = read_sts(write(tmp_path, STS + body))
    assert [pair.row for pair in pairs] == [5748, 5749, 7248, 7249, None, None]
    assert official_dev(pairs) == pairs[1:3]
    tagged = STS.replace("\n", "\tphenomenon\n") + "0\tk\tx\ty\t1.5\tnegation\n"
    assert [pair.phenomenon for pair in read_sts(write(tmp_path, tagged))] == ["negation"]
    no_such_column = write(tmp_path, "id\tsentence1\tsentence2\tsimilarity\na\tx\ty\t1\n")
    assert read_sts(no_such_column) == [SentencePair("a", "x", "y", 1.0)]


# --- selection


def test_selection_never_peeks_at_pairs_that_are_scored():
    folder = real_data("cs224n")
    chosen = selection_pairs(folder)
    splits = read_task(folder, "sts")
    assert len(chosen) == 920 and len(official_dev(splits.train)) == 1031
    ids = {pair.id for pair in chosen}
    assert ids <= {pair.id for pair in splits.train}
    scored = {normalise(text) for pair in (*splits.dev, *splits.test) for text in pair.texts}
    assert not scored & {normalise(text) for pair in chosen for text in pair.texts}
    assert selection_pairs(folder, splits) == chosen


def test_selection_without_official_rows_takes_training_pairs(toy_data, tmp_path):
    splits = read_task(toy_data, "sts")
    scored = {normalise(text) for pair in (*splits.dev, *splits.test) for text in pair.texts}
    assert selection_pairs(toy_data) == [
        pair for pair in splits.train if not scored & set(map(normalise, pair.texts))
    ]
    assert selection_pairs(tmp_path) == []


def test_a_column_that_counts_the_rows_is_not_of_official_rows(tmp_path):
    """As pandas writes one: from row 5,749 on it looks like the official dev set's."""
    rows = [f"{i}\ts{i}\tone {i}\tother {i}\t{i % 6}" for i in range(5_760)]
    table = "\n".join(["\tid\tsentence1\tsentence2\tsimilarity", *rows]) + "\n"
    (tmp_path / "sts-train.csv").write_text(table)
    assert [pair.id for pair in selection_pairs(tmp_path)] == [f"s{i}" for i in range(1000)]
