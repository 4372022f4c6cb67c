"""Predictions as courses spell them are read, every fault has its line, and none is invented."""

from pathlib import Path

import numpy as np
import pytest
from made_submissions import (
    COLUMNS,
    MINE,
    SPELLINGS,
    TYPES,
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
from assignment.submission.opening import Document
from assignment.submission.reader import Gold, Place, check, named
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


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("sts-test-out.csv", Place("sts", "test")),
        ("last-linear-layer-sst-test-out.csv", Place("sst", "test", "last-linear-layer")),
        ("quora-paraphrase-dev-output.csv", Place("para", "dev")),
        ("old-sts-similarity-dev-output.csv", Place("sts", "dev", "old")),
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
def test_every_spelling_is_read(spelling, task, gold):
    if spelling == "goettingen" and task not in WORDS:
        return  # that course has no such task
    expected = gold.expected(task, "dev")
    values = [None, *predictions(task, "dev")[1:]]
    order = np.random.default_rng(0).permutation(len(values))  # rows come in any order
    ids = [expected.ids[k] for k in order]
    text = text_of(task, "dev", spelling, [values[k] for k in order], ids).replace("sst", "SST")
    checked = check(Document(name_of(task, "dev", spelling), text.encode("utf-8-sig")), gold)
    assert (checked.task, checked.split, checked.faults) == (task, "dev", [])
    assert [checked.answers[id].value for id in expected.ids] == values


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
    assert gold.labels("para", "dev").tolist() == [1] and gold.expected("para", "dev").ids == ["a1"]
    text = f"id,{COLUMNS['para']}\n{rows}"
    checked = check(Document("para-dev-output.csv", text.encode()), gold)
    assert checked.faults == [] and checked.answers["a1"].value == value


def test_data_in_which_two_rows_have_the_same_id_are_refused_as_in_a_run(tmp_path):
    (tmp_path / "quora-dev.csv").write_text(PARA_ROWS.replace("b2\tx\ty\t", "a1\tx\ty\t0"))
    with pytest.raises(DataError, match="two rows have the same id; give each row"):
        Gold(tmp_path).labels("para", "dev")


# A task's dev file with another text in a line, and the fault that it has; "" for none.
A_CLASS = "expected a class from 0 to"
FAULTS = [
    ("sst", 5, "sstdev003 , 2.5 ", f":5: prediction is '2.5', {A_CLASS} 4"),
    ("sst", 5, "sstdev003 , -1 ", f":5: prediction is '-1', {A_CLASS} 4"),
    ("sst", 5, "sstdev003 , nan ", f":5: prediction is 'nan', {A_CLASS} 4"),
    ("sst", 5, "sstdev002 , 1 ", ":5: id 'sstdev002' is on line 4 too; delete one"),
    ("sst", 5, "other , 1 ", ":5: id 'other' is not in ids-sst-dev.csv"),
    ("sst", 5, "sstdev003 , 1 , 2", ":5: 3 fields, expected an id and a prediction"),
    ("sst", 5, "", ": 1 of the 40 rows of ids-sst-dev.csv are missing ('sstdev003')"),
    ("sst", 5, "\x1b]0;owned\x07\u202e , 1 ", ":5: id '\\x1b]0;owned\\x07\\u202e' is not in"),
    ("sst", 4, "\udcff", ":4: byte 0xff is not valid UTF-8; save the file as UTF-8 text"),
    ("sst", 1, "\udcff", ":1: byte 0xff is not valid UTF-8; save the file as UTF-8 text"),
    ("sst", 1, "id,score", ":1: not a header of predictions"),
    ("sst", 1, "id,Predicted_Similarity", ":1: Predicted_Similiary is not of sst; rename it"),
    ("sst", 1, "sstdev000 , 1", ":1: not a header of predictions"),
    ("para", 2, "paradev000 , 0.7", f":2: prediction is '0.7', {A_CLASS} 1"),
    ("sst", 2, "sstdev000 , 3919", f":2: prediction is '3919', {A_CLASS} 4"),
    ("para", 2, "paradev000 , 1", ""),
    ("sts", 2, "stsdev000 , -inf", ":2: prediction is '-inf', expected a number"),
    ("sts", 2, "stsdev000 , 5.2", ""),
    ("sst", 2, "sstdev000 ,  ", ""),
    ("sst", 1, "id2,Predicted_Sentiment", ""),
]
NOTES = {"5.2": "are not from 0 to 5", ",  ": "1 of 40 rows give no answer; none of them scores"}


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
        if "UTF-8" in fault:
            assert "1 fault(s)" in err  # what is unread is not called missing
    else:
        assert (code, err) == (0, "")
    for ending, note in NOTES.items():
        told = any(shown.startswith("note: ") and note in shown for shown in out)
        assert told == text.endswith(ending)


def test_all_faults_are_told_in_order_up_to_a_number(place, capsys):
    values = [9.0] * 30 + predictions("sst", "dev")[30:]
    (place / SST).write_text(text_of("sst", "dev", values=values) + "new , 1\n")
    code, out, err = validate(capsys, SST)
    lines = [int(line.split(":")[1]) for line in out if "prediction is" in line]
    assert code == 2 and lines == [*range(2, 22)]
    assert f"{SST}: ... and 11 more faults" in out and "31 fault(s)" in err
    (place / SST).write_text(text_of("sst", "dev").partition("\n")[2])
    code, out, err = validate(capsys, SST)
    assert code == 2 and "1 fault(s)" in err  # without a header, the first row counts
    (place / SST).write_text(text_of("sst", "test", values=[1] * 60))
    code, out, err = validate(capsys, SST)
    assert code == 2 and "1 fault(s)" in err  # the rows of another split are one
    assert f"{SST}: no row is of data/ids-sst-dev.csv, they are of sst test; mixed up?" in out
    assert f"note: {SST}: all answers are 1" in out


def test_wrong_missing_and_double_names_are_told_with_the_right_one(place, capsys):
    mine = write_submission(place / "mine")
    (mine / "README.txt").write_text("We predicted well.\n")
    for option in ("pretrain", "finetune"):  # of the course's first half
        (mine / f"{option}-sst-dev-out.csv").write_text(text_of("sst", "dev"))
    assert validate(capsys, "mine")[0] == 0
    (mine / "sts-test-output.csv").rename(mine / "STS_test_output.csv")
    code, out, _ = validate(capsys, "mine")
    wrong = "mine/STS_test_output.csv: not a name that the course knows"
    assert code == 2 and f"{wrong}; rename it sts-test-output.csv" in out
    assert not any("README" in line for line in out)
    (mine / "STS_test_output.csv").unlink()
    (mine / "sst-dev-out.csv").write_text(text_of("sst", "dev"))
    (mine / "sst-predictions.txt").write_text("id,Predicted_Sentiment_\n")
    code, out, err = validate(capsys, "mine")
    assert code == 2 and "4 fault(s)" in err
    assert "mine: sts-test-output.csv is missing; add it" in out
    both = "mine/sst-dev-out.csv and mine/sst-dev-output.csv are both of sst dev"
    assert f"mine: {both}; submit one of them" in out
    untold = "mine/sst-predictions.txt: the name and the header do not state the task; rename it"
    assert any(line.startswith(untold) for line in out)


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
    types = "predictions/bart/" + TYPES
    for path, most, joint in (("predictions", 12, 6), (MINE, 12, 6), (f"{MINE}/multitask", 6, 0)):
        caplog.clear()
        code, out, _ = validate(capsys, path)
        assert code == 0 and out[-1] == f"{path}: valid for the course"
        assert sum(" rows of " in line for line in out) == most
        assert (f"{joint} file(s) below multitask do not count" in caplog.text) == bool(joint)
        note = f"note: {types} and 1 more: paraphrase types are not scored here; passed over"
        assert (note in out) == (path == "predictions")
    assert validate(capsys, f"{MINE}/sst-sentiment-test-output.csv")[0] == 0
    code, out, _ = validate(capsys, types)
    fault = f"{types}: paraphrase types are not scored here; give sst, para or sts"
    assert code == 2 and out == [fault]
    main(["validate", f"{MINE}/sst-sentiment-dev-output.csv"])  # on the bundled data
    assert "; give the data that they are of (--data, --gold)" in capsys.readouterr().out
    # What is missing or named wrongly is told in this course's names.
    Path(MINE, "sst-sentiment-dev-output.csv").unlink()
    Path(MINE, "multitask", "sst-sentiment-dev-output.csv").unlink()
    Path(MINE, "sts-similarity-dev-output.csv").rename(f"{MINE}/sts_dev_out.csv")
    code, out, _ = validate(capsys, "predictions")
    assert code == 2 and "predictions: sst-sentiment-dev-output.csv is missing; add it" in out
    assert any("rename it sts-similarity-dev-output.csv" in line for line in out)


def test_of_two_files_of_a_split_the_one_that_is_read_is_named(place, capsys, caplog):
    (place / "data" / "ids-sst-test.csv").write_text("id\tsentence\tsentiment\n")
    (place / SST).write_text(text_of("sst", "dev"))
    assert validate(capsys, SST)[0] == 0
    assert caplog.messages == [
        "data: sst reads ids-sst-dev.csv, ids-sst-test-student.csv; "
        "there too, and not read: ids-sst-test.csv"
    ]


@pytest.mark.parametrize("words", [("none",), ("empty",), ("run",), (SST, "--data", "none")])
def test_what_cannot_be_opened_is_one_line(words, place, capsys):
    (place / "empty").mkdir()
    (place / "run").mkdir()
    (place / "run" / "results.json").write_text("[]")
    (place / SST).write_text(text_of("sst", "dev"))
    code = main(["validate", "--data", "data", *words])
    err = capsys.readouterr().err
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1 and ";" in err


def test_data_that_is_not_there_is_noted(place, capsys):
    (place / "data" / "ids-sst-dev.csv").unlink()
    (place / SST).write_text(text_of("sst", "dev"))
    code, out, _ = validate(capsys, SST)
    assert code == 0 and f"note: {SST}: ids not checked, data lacks its data" in out
