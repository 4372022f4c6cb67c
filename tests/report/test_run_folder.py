"""The run folder: written whole or not at all, spelled as the course does, clear when damaged."""

import csv
import json

import numpy as np
import pytest
from made_cells import cell, para_cell

from data.examples import DataError, Sentence, SentencePair
from data.tasks import TASKS
from report.run_folder import RunFolder


def test_a_curve_replaces_only_its_own_lines(tmp_path):
    folder = RunFolder(tmp_path)
    folder.add_curve("a", [{"step": 1}, {"step": 2}])
    folder.add_curve("b", [{"step": 9}])
    folder.add_curve("a", [{"step": 3}])
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines == [{"curve": "b", "step": 9}, {"curve": "a", "step": 3}]


@pytest.mark.parametrize(
    ("task", "header", "values", "spelled"),
    [
        ("sst", "Predicted_Sentiment", [3.0, 0.0], ["3", "0"]),
        ("para", "Predicted_Is_Paraphrase", [1.0, 0.0], ["1.0", "0.0"]),
        ("sts", "Predicted_Similiary", [2.5, 0.125], ["2.5", "0.125"]),
    ],
)
def test_prediction_files_are_byte_for_byte_those_of_the_course(
    task, header, values, spelled, tmp_path
):
    RunFolder(tmp_path).write_predictions("cell", TASKS[task], "dev", ["b", "a"], np.array(values))
    content = (tmp_path / "predictions" / "cell" / f"{task}-dev-output.csv").read_bytes()
    first, second = spelled
    assert content == f"id \t {header} \nb , {first} \na , {second} \n".encode()


def test_predictions_are_read_as_they_were_written(tmp_path):
    """Ids may hold commas, and one may occur twice: the rows are in order."""
    rows = [SentencePair(id, "x", "y", 1.0) for id in ("b , 1", "a", "a")]
    folder, values = RunFolder(tmp_path), np.array([0.1, 1e-9, 5.0])
    folder.write_predictions(cell().name, TASKS["sts"], "dev", [row.id for row in rows], values)
    assert folder.predictions(cell(), rows).tolist() == values.tolist()
    with pytest.raises(DataError, match=r"sts-dev-output\.csv: not the 2 rows of the current data"):
        folder.predictions(cell(), rows[:2])
    path = folder.predictions_path(cell())
    path.write_text(path.read_text().replace("1e-09", "?"))
    with pytest.raises(DataError, match=r"sts-dev-output\.csv:3: no prediction"):
        folder.predictions(cell(), rows)
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        folder.predictions(cell(), rows)


def test_what_data_say_starts_no_formula_in_a_spreadsheet(tmp_path):
    tag = {"=HYPERLINK(A1)": {"n": 30, "error": 0.5}}
    RunFolder(tmp_path).write_results([para_cell(phenomena=tag, data="-data")])
    rows = []
    for name in ("phenomena", "results"):
        with (tmp_path / f"{name}.csv").open() as file:
            rows += csv.DictReader(file)
    assert rows[0]["phenomenon"] == "'=HYPERLINK(A1)" and rows[1]["data"] == "'-data"
    # Undefined metrics are empty fields.
    assert (rows[1]["accuracy"], rows[1]["pearson"]) == ("0.5", "")


@pytest.mark.parametrize("content", ['{"model_type": "bert"}', "{", "7"])
def test_a_folder_with_somebody_elses_config_is_not_a_run_folder(content, tmp_path):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(DataError, match="give another --run-dir"):
        RunFolder(tmp_path).config()
    with pytest.raises(DataError, match="not a run's config"), RunFolder(tmp_path).alone():
        pytest.fail("must not begin")
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


LINES = [b"{}", b"\xff\xfe", b"[" * 100_000, b'{"curve": "a", "step": 1%s}' % (b"0" * 400)]


@pytest.mark.parametrize("line", LINES)
def test_a_damaged_curve_file_is_one_clear_line(line, tmp_path):
    (tmp_path / "metrics.jsonl").write_bytes(line + b"\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl: not a run's curves") as raised:
        RunFolder(tmp_path).add_curve("a", [{"step": 1}])
    assert len(str(raised.value)) < 200 + len(str(tmp_path))  # quotes no whole file


def test_what_lies_behind_predictions_is_read_for_the_same_rows_only(tmp_path):
    folder, soft = RunFolder(tmp_path), np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    folder.write_soft(cell(), ["a", "b", "a"], soft=soft)
    examples = [Sentence(id, "x") for id in "aba"]
    (found,) = folder.soft(cell(), examples).values()
    np.testing.assert_array_equal(found, soft)
    assert folder.soft(cell(), examples[::-1][1:]) == {} == folder.soft(cell(), examples[:2])
    (path,) = tmp_path.rglob("*.npz")
    path.write_bytes(b"PK")
    assert folder.soft(cell(), examples) == {}
    path.unlink()
    assert folder.soft(cell(), examples) == {}


def test_a_folder_is_for_one_command_at_a_time(tmp_path):
    first, second = RunFolder(tmp_path / "r"), RunFolder(tmp_path / "r")
    with first.alone():
        with pytest.raises(DataError, match="r: another command is writing into it"):
            with second.alone():
                pytest.fail("must not begin")
        with RunFolder(tmp_path / "r", read_only=True).alone():
            pass  # another process of the same command
        with RunFolder(tmp_path / "other").alone():
            pass
    with second.alone():
        pass
