"""`python -m assignment validate`: every fault is told with its line, and none is invented."""

import zipfile

import pytest
from made_submissions import ids_of, predictions, text_of, write_data, write_submission

from assignment.__main__ import main
from data.tasks import read_sst

SST = "sst-dev-output.csv"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data")
    return tmp_path


def validate(capsys, *words):
    code = main(["validate", *map(str, words), "--data", "data"])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


@pytest.mark.parametrize("dialect", ["code", "handout", "tab", "cmu"])
def test_a_whole_submission_is_fine(dialect, place, capsys):
    tasks = ("sst",) if dialect == "cmu" else ("sst", "para", "sts")
    write_submission(place / "mine", dialect, tasks)
    code, out, err = validate(capsys, "mine", "--tasks", *tasks)
    assert (code, err) == (0, "") and out[-1] == "mine: as the course asks for it"
    assert sum("40 rows of" in line for line in out) == len(tasks)


def changed(line, text):
    """Return sst dev's file with another text in a line."""
    lines = text_of("sst", "dev").splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("line", "text", "fault"),
    [
        (5, "sstdev003 , 2.5 ", f"{SST}:5: prediction is '2.5', expected a class from 0 to 4"),
        (5, "sstdev003 , 5 ", f"{SST}:5: prediction is '5', expected a class"),
        (5, "sstdev003 , -1 ", f"{SST}:5: prediction is '-1', expected a class"),
        (5, "sstdev003 , nan ", f"{SST}:5: prediction is 'nan', expected a class"),
        (5, "sstdev003 , 1e999 ", f"{SST}:5: prediction is '1e999', expected a class"),
        (5, "sstdev003 , good ", f"{SST}:5: prediction is 'good', expected a class"),
        (5, "sstdev002 , 1 ", f"{SST}:5: id 'sstdev002' is on line 4 too; delete one"),
        (5, "other , 1 ", f"{SST}:5: id 'other' is not in ids-sst-dev.csv"),
        (5, "sstdev003 ", f"{SST}:5: 1 fields, expected an id and a prediction"),
        (5, "sstdev003 , 1 , 2", f"{SST}:5: 3 fields, expected an id and a prediction"),
        (5, "", f"{SST}: 1 of the 40 rows of ids-sst-dev.csv are missing ('sstdev003')"),
        (1, "id,score", f"{SST}:1: not a header of predictions"),
        (1, "id,Predicted_Similarity", f"{SST}:1: Predicted_Similiary is not of sst; rename it"),
    ],
)
def test_every_kind_of_fault_is_told_with_its_line(line, text, fault, place, capsys):
    (place / SST).write_text(changed(line, text))
    code, out, err = validate(capsys, SST)
    assert code == 2 and any(told.startswith(fault) for told in out)
    assert err.startswith(f"error: {SST}: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("task", "value", "fault"),
    [("para", "0.7", True), ("para", "1", False), ("sts", "5.2", False), ("sts", "-inf", True)],
)
def test_what_a_value_may_be_depends_on_the_task(task, value, fault, place, capsys):
    name = f"{task}-dev-output.csv"
    text = text_of(task, "dev")
    first = text.splitlines()[1]
    (place / name).write_text(text.replace(first, f"{task}dev000 , {value} "))
    code, out, _ = validate(capsys, name)
    assert code == (2 if fault else 0)
    assert any(f"{name}:2: prediction is {value!r}" in line for line in out) == fault
    assert any("not from 0 to 5" in line for line in out) == (value == "5.2")


def test_no_answer_is_allowed_and_noted(place, capsys):
    (place / SST).write_text(changed(2, "sstdev000 ,  "))
    code, out, _ = validate(capsys, SST)
    assert code == 0 and f"note: {SST}: 1 of 40 rows give no answer; none of them scores" in out


def test_all_faults_are_told_in_order_up_to_a_number(place, capsys):
    values = [9.0] * 30 + predictions("sst", "dev")[30:]
    (place / SST).write_text(text_of("sst", "dev", values=values) + "new , 1\n")
    code, out, err = validate(capsys, SST, "--most", 5)
    lines = [int(line.split(":")[1]) for line in out if "prediction is" in line]
    assert code == 2 and lines == [2, 3, 4, 5, 6]
    assert f"{SST}: ... and 26 more faults (--most N)" in out and "31 fault(s)" in err


def test_the_rows_of_another_split_are_one_fault(place, capsys):
    (place / SST).write_text(text_of("sst", "test"))
    code, out, err = validate(capsys, SST)
    assert code == 2 and "1 fault(s)" in err
    assert f"{SST}: no row is of ids-sst-dev.csv, they are of sst test; mixed up?" in out


def test_wrong_names_are_told_with_the_right_one(place, capsys):
    write_submission(place / "mine")
    (place / "mine" / "sts-test-output.csv").rename(place / "mine" / "STS_test_output.csv")
    (place / "mine" / "README.txt").write_text("We predicted well.\n")
    code, out, _ = validate(capsys, "mine")
    wrong = "mine/STS_test_output.csv: not a name that the course knows"
    assert code == 2 and f"{wrong}; rename it sts-test-output.csv" in out
    assert not any("README" in line for line in out)


def test_missing_and_double_files_are_told(place, capsys):
    write_submission(place / "mine")
    (place / "mine" / "sts-test-output.csv").unlink()
    (place / "mine" / "sst-dev-out.csv").write_text(text_of("sst", "dev"))
    code, out, err = validate(capsys, "mine")
    assert code == 2 and "2 fault(s)" in err
    assert "mine: sts-test-output.csv is missing; add it" in out
    both = "mine/sst-dev-out.csv and mine/sst-dev-output.csv are both of sst dev"
    assert f"mine: {both}; submit one of them" in out


def test_files_of_the_first_half_stand_beside_those_of_the_second(place, capsys):
    write_submission(place / "mine")
    for option in ("pretrain", "finetune"):
        (place / "mine" / f"{option}-sst-dev-out.csv").write_text(text_of("sst", "dev"))
    assert validate(capsys, "mine")[0] == 0


def test_a_zip_is_read_like_its_folder(place, capsys):
    folder = write_submission(place / "mine" / "predictions")
    with zipfile.ZipFile(place / "mine.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"predictions/{path.name}")
        archive.writestr("__MACOSX/predictions/._sst-dev-output.csv", b"\0\1")
        archive.writestr("run.py", "raise SystemExit")
    assert validate(capsys, "mine.zip")[0] == 0


def test_bytes_that_are_no_text_are_one_fault_with_its_line(place, capsys):
    text = text_of("sst", "dev").encode().splitlines(keepends=True)
    (place / SST).write_bytes(b"".join([*text[:3], b"\xff\xfe\n", *text[3:]]))
    code, out, err = validate(capsys, SST)
    assert (
        code == 2 and f"{SST}:4: byte 0xff is not valid UTF-8; save the file as UTF-8 text" in out
    )
    assert "1 fault(s)" in err  # what is unread is not called missing


def test_what_is_told_cannot_steer_a_terminal(place, capsys):
    (place / SST).write_text(changed(5, "\x1b]0;owned\x07\u202e , 1 "))
    code, out, _ = validate(capsys, SST)
    assert code == 2 and all(line.isprintable() for line in out)


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


def test_the_made_data_is_what_the_readers_read(place):
    assert [row.id for row in read_sst(place / "data" / "ids-sst-dev.csv")] == ids_of("sst", "dev")
