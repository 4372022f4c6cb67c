"""Predictions as courses spell them are read, every fault has its line, and none is invented."""

from pathlib import Path

import numpy as np
import pytest
from made_submissions import (
    COLUMNS,
    MINE,
    SPELLINGS,
    WORDS,
    course_repository,
    name_of,
    predictions,
    text_of,
    working_folder,
    write_data,
    write_submission,
    zipped,
)

from assignment.__main__ import main
from assignment.submission import reader
from assignment.submission.reader import Gold, PredictionFile, named, read_submission
from data.examples import DataError

TASKS = ("sst", "para", "sts", "cfimdb")
SST = "sst-dev-output.csv"


@pytest.fixture
def place(tmp_path, monkeypatch):
    return working_folder(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def gold(tmp_path_factory) -> Gold:
    return Gold(write_data(tmp_path_factory.mktemp("data"), TASKS))


def validate(capsys, *words):
    code = main(["validate", *map(str, words), "--data", "data"])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def read(path: Path, gold: Gold) -> PredictionFile:
    (file,) = read_submission(path, gold)[0].values()
    return file


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("sts-test-out.csv", ("sts", "test")),
        ("last-linear-layer-sst-test-out.csv", ("sst", "test")),
        ("quora-paraphrase-dev-output.csv", ("para", "dev")),
        ("old-sts-similarity-dev-output.csv", ("sts", "dev")),
        ("sst-similarity-dev-output.csv", None),
        ("SST-dev-output.csv", None),
        ("sst-train-output.csv", None),
        ("sst-dev-output.csv.bak", None),
        ("mysst-dev-output.csv", None),
    ],
)
def test_names_of_all_courses_are_known(name, meaning):
    assert named(name) == meaning


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("task", TASKS)
def test_every_spelling_is_read(spelling, task, gold, tmp_path):
    if spelling == "goettingen" and task not in WORDS:
        return  # that course has no such task
    expected = gold.expected(task, "dev")
    values = [None, *predictions(task, "dev")[1:]]
    order = np.random.default_rng(0).permutation(len(values))  # rows come in any order
    ids = [expected.ids[k] for k in order]
    text = text_of(task, "dev", spelling, [values[k] for k in order], ids).replace("sst", "SST")
    path = tmp_path / name_of(task, "dev", spelling)
    path.write_text(text, encoding="utf-8-sig")
    file = read(path, gold)
    assert (file.place, file.faults, file.empty) == ((task, "dev"), [], 1)
    found = [file.values[id][1] for id in expected.ids]
    assert np.isnan(found[0]) and found[1:] == values[1:]


PARA_ROWS = "\tid\tsentence1\tsentence2\tis_duplicate\n0\ta1\tx\ty\t1.0\n1\tb2\tx\ty\t\n"


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        # Rows without a label may be predicted and do not count.
        ("a1,1\n", 1),
        ("b2,0\nA1,1\n", 1),
        # The tokens of "no" and "yes".
        ("b2,3919\na1,8505\n", 1),
        ("a1,3919\n", 0),
    ],
)
def test_rows_are_matched_by_id(rows, value, tmp_path):
    (tmp_path / "quora-dev.csv").write_text(PARA_ROWS)
    gold = Gold(tmp_path)
    expected = gold.expected("para", "dev")
    assert expected.labels.tolist() == [1] and expected.ids == ["a1"]
    (tmp_path / "para-dev-output.csv").write_text(f"id,{COLUMNS['para']}\n{rows}")
    file = read(tmp_path / "para-dev-output.csv", gold)
    assert file.faults == [] and file.values["a1"][1] == value


def test_data_in_which_two_rows_have_the_same_id_are_refused_as_in_a_run(tmp_path):
    (tmp_path / "quora-dev.csv").write_text(PARA_ROWS.replace("b2\tx\ty\t", "a1\tx\ty\t0"))
    with pytest.raises(DataError, match="two rows have the same id; give each row"):
        Gold(tmp_path).expected("para", "dev")


# A task's dev file with another text in a line, and the fault that it has; "" for none.
A_CLASS = "expected a class from 0 to"
FAULTS = [
    ("sst", 5, "sstdev003 , 2.5 ", f":5: prediction is '2.5', {A_CLASS} 4"),
    ("sst", 5, "sstdev003 , -1 ", f":5: prediction is '-1', {A_CLASS} 4"),
    ("sst", 5, "sstdev003 , nan ", f":5: prediction is 'nan', {A_CLASS} 4"),
    ("sst", 5, "sstdev002 , 1 ", ":5: id 'sstdev002' is on line 4 too; delete one"),
    ("sst", 5, "other , 1 ", ":5: id 'other' is not in ids-sst-dev.csv"),
    ("sst", 5, "sstdev003 , 1 , 2", ":5: 3 fields, expected an id and a prediction"),
    ("sst", 5, "", ":41: ends without 1 of the 40 ids of ids-sst-dev.csv (the first: 'sstdev003')"),
    ("sst", 5, "\x1b]0;owned\x07\u202e , 1 ", ":5: id '\\x1b]0;owned\\x07\\u202e' is not in"),
    ("sst", 4, "\udcff", ":4: byte 0xff is not valid UTF-8; save the file as UTF-8 text"),
    ("sst", 1, "\udcff", ":1: byte 0xff is not valid UTF-8; save the file as UTF-8 text"),
    ("sst", 1, "id,score", ":1: not a header of predictions"),
    (
        "sst",
        1,
        "id,Predicted_Similarity",
        ":1: has Predicted_Similiary, expected Predicted_Sent",
    ),
    ("sst", 1, "sstdev000 , 1", ":1: not a header of predictions"),
    ("para", 2, "paradev000 , 0.7", f":2: prediction is '0.7', {A_CLASS} 1"),
    ("sst", 2, "sstdev000 , 3919", f":2: prediction is '3919', {A_CLASS} 4"),
    ("para", 2, "paradev000 , 1", ""),
    ("sts", 2, "stsdev000 , -inf", ":2: prediction is '-inf', expected a number"),
    ("sts", 2, "stsdev000 , 5.2", ""),
    ("sst", 2, "sstdev000 ,  ", ""),
    ("sst", 1, "id2,Predicted_Sentiment", ""),
]


@pytest.mark.parametrize(("task", "line", "text", "fault"), FAULTS)
def test_every_kind_of_fault_is_told_with_its_line(task, line, text, fault, place, capsys):
    name = f"{task}-dev-output.csv"
    lines = text_of(task, "dev").splitlines()
    lines[line - 1] = text
    (place / name).write_bytes("\n".join([*lines, ""]).encode(errors="surrogateescape"))
    code, out, err = validate(capsys, name)
    assert all(shown.isprintable() for shown in out)
    if fault:
        assert code == 2 and any(told.startswith(f"{name}{fault}") for told in out)
        assert err.startswith(f"error: {name}: ") and err.count("\n") == 1
        if line == 1 or "UTF-8" in fault:
            assert "1 fault(s)" in err  # what is unread is not called missing
    else:
        given = 39 if text.endswith(",  ") else 40
        assert (code, err) == (0, "")
        assert out[0] == f"{name}: 40 rows of {task} dev, {given} with a prediction"


def test_faults_are_told_in_order_up_to_a_number(place, capsys):
    values = [9.0] * 30 + predictions("sst", "dev")[30:]
    (place / SST).write_text(text_of("sst", "dev", values=values) + "new , 1\n")
    code, out, err = validate(capsys, SST)
    lines = [int(line.split(":")[1]) for line in out if "prediction is" in line]
    assert code == 2 and lines == [*range(2, 22)] and "20 fault(s)" in err
    (place / SST).write_text(text_of("sst", "test", values=[1] * 60))
    code, out, err = validate(capsys, SST)
    assert code == 2 and f"{SST}:2: id 'ssttest000' is not in ids-sst-dev.csv" in out[1]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"id,Predicted_Sentiment\n" + b"\n" * 70, ":61: more than 60 lines; submit fewer"),
        (b"\x1f\x8b\x08" + bytes(99), ": compressed by gzip"),
        (bytes(99), ":1: not a header of predictions"),
        (b"x" * (2**20 + 1), ":1: more than 1,048,576 bytes"),
    ],
)
def test_content_that_is_no_table_is_one_fault(content, fault, place, capsys, monkeypatch):
    monkeypatch.setattr(reader, "MOST_ROWS", 60)
    name = "\x1b[2J-" + SST
    (place / name).write_bytes(content)
    code, out, err = validate(capsys, name)
    shown = f"\\x1b[2J-{SST}"
    assert code == 2 and out[0].startswith(f"{shown}: 0 rows") and "1 fault(s)" in err
    assert out[1].startswith(f"{shown}{fault}")


def test_one_file_of_a_split_counts_and_missing_ones_are_told(place, capsys, caplog):
    mine = write_submission(place / "mine")
    (mine / "README.txt").write_text("We predicted well.\n")
    assert validate(capsys, "mine")[0] == 0 and caplog.messages == []
    (mine / "finetune-sst-dev-out.csv").write_text("of the course's first half")
    (mine / "multitask").mkdir()
    (mine / "multitask" / SST).write_text("of a joint model")
    assert validate(capsys, "mine")[0] == 0
    assert caplog.messages == [
        f"mine/{other}: not read; mine/{SST} counts"
        for other in ("finetune-sst-dev-out.csv", "multitask/sst-dev-output.csv")
    ]
    (mine / "sts-test-output.csv").rename(mine / "STS_test_output.csv")
    code, out, err = validate(capsys, "mine")
    assert code == 2 and "1 fault(s)" in err
    assert "mine: no file of sts test, expected such as sts-test-output.csv; add it" in out
    assert not any("README" in line for line in out)


def test_a_whole_submission_is_fine_as_a_folder_and_as_a_zip(place, capsys):
    for spelling in ("handout", "goettingen"):
        folder = write_submission(place / spelling, spelling)
        code, out, err = validate(capsys, spelling)
        assert (code, err) == (0, "") and out[-1] == f"{spelling}: valid for the course"
        assert sum("40 rows of" in line for line in out) == 3
        (folder / "._sst-dev-output.csv").write_bytes(b"\0\1")  # as macOS packs them
        (folder / "run.py").write_text("raise SystemExit")
        zipped(folder, place / "mine.zip")
        assert validate(capsys, "mine.zip")[0] == 0


def test_a_repository_of_the_course_in_goettingen(tmp_path, monkeypatch, capsys, caplog):
    monkeypatch.chdir(course_repository(tmp_path / "mine"))
    for path, others in (("predictions", 6), (MINE, 6), (f"{MINE}/multitask", 0)):
        caplog.clear()
        code, out, _ = validate(capsys, path)
        assert code == 0 and out[-1] == f"{path}: valid for the course"
        assert sum(" rows of " in line for line in out) == 6
        assert len(caplog.messages) == others
    assert validate(capsys, f"{MINE}/sst-sentiment-test-output.csv")[0] == 0
    Path(MINE, "sst-sentiment-dev-output.csv").unlink()
    Path(MINE, "multitask", "sst-sentiment-dev-output.csv").unlink()
    code, out, _ = validate(capsys, "predictions")
    assert code == 2 and any(line.startswith("predictions: no file of sst dev,") for line in out)


def test_of_two_files_of_a_split_the_one_that_is_read_is_named(place, capsys, caplog):
    (place / "data" / "ids-sst-test.csv").write_text("id\tsentence\tsentiment\n")
    (place / SST).write_text(text_of("sst", "dev"))
    assert validate(capsys, SST)[0] == 0
    assert caplog.messages == [
        "data: sst reads ids-sst-dev.csv, ids-sst-test-student.csv; "
        "there too, and not read: ids-sst-test.csv"
    ]


@pytest.mark.parametrize("words", [("none",), ("empty",), ("x.csv",), (SST, "--data", "none")])
def test_what_cannot_be_opened_is_one_line(words, place, capsys):
    (place / "empty").mkdir()
    for name in (SST, "x.csv"):
        (place / name).write_text(text_of("sst", "dev"))
    code = main(["validate", "--data", "data", *words])
    err = capsys.readouterr().err
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1 and ";" in err


def test_ids_that_cannot_be_compared_are_a_fault(place, capsys):
    (place / "data" / "ids-sst-dev.csv").unlink()
    (place / SST).write_text(text_of("sst", "dev"))
    code, out, _ = validate(capsys, SST)
    assert code == 2 and f"{SST}: no rows of it in data; give the folder with them" in out
