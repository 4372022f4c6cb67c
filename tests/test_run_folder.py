"""The run folder beside what test_report.py holds: prediction files, csv, damaged leftovers."""

import csv
import json

import numpy as np
import pytest

from data.examples import DataError
from report.run_folder import RunFolder
from report.table import results_table


def cell(**changes):
    """Return one cell of results.json."""
    base = {
        "key": "k", "pretrain": "none", "task": "para", "encoder": "bi", "tune": "frozen",
        "features": "concat", "backbone": "b", "data": "d", "seed": 1, "split": "dev", "n": 9,
        "seconds": 2.0, "sentences_per_second": 100.0,
        "metrics": {"accuracy": 0.5, "f1": 0.25, "pearson": None, "spearman": None},
        "overlap": {"sentences": 0.0, "pairs": 0.0, "metrics_on_rest": {"accuracy": 0.5}},
    }  # fmt: skip
    return {**base, **changes}


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
    RunFolder(tmp_path).write_predictions("cell", task, "dev", ["b", "a"], np.array(values))
    content = (tmp_path / "predictions" / "cell" / f"{task}-dev-output.csv").read_bytes()
    first, second = spelled
    assert content == f"id \t {header} \nb , {first} \na , {second} \n".encode()


def test_ids_without_predictions_are_refused_and_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match="argument"):
        RunFolder(tmp_path).write_predictions("cell", "sst", "dev", ["a", "b"], np.array([1.0]))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_undefined_metrics_are_empty_fields_of_the_csv(tmp_path):
    RunFolder(tmp_path).write_results([cell()], {})
    with (tmp_path / "results.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["accuracy"], row["pearson"], row["spearman"]) == ("0.5", "", "")


def test_nothing_temporary_is_left_after_writing(tmp_path):
    folder = RunFolder(tmp_path / "r")
    folder.write_json("config.json", {})
    folder.write_results([cell()], {})
    folder.add_curve("c", [{"step": 1}])
    folder.link("backbones/none", tmp_path)
    assert not list(tmp_path.rglob(".*"))


def test_a_cell_of_two_splits_is_found_under_one_key(tmp_path):
    RunFolder(tmp_path).write_results([cell(), cell(split="test")], {})
    (group,) = RunFolder(tmp_path).finished_cells("b", "d").values()
    assert [entry["split"] for entry in group] == ["dev", "test"]


def test_results_of_another_backbone_or_data_are_not_mixed_in(tmp_path):
    RunFolder(tmp_path).write_results([cell()], {})
    for backbone, data in (("mini", "d"), ("b", "cs224n")):
        with pytest.raises(DataError, match=r"--backbone b --data d; give another --run-dir"):
            RunFolder(tmp_path).finished_cells(backbone, data)


def test_a_state_goes_when_its_results_are_written(tmp_path):
    folder = RunFolder(tmp_path)
    own, other = folder.state_path("cell", "k"), folder.state_path("cell", "other")
    own.parent.mkdir()
    own.write_text("")
    other.write_text("")
    RunFolder(tmp_path, read_only=True).write_results([cell()], {})
    assert own.is_file()
    folder.write_results([cell()], {})
    assert not own.exists() and other.is_file()


def test_seeds_join_into_one_row_and_splits_do_not():
    table = results_table([cell(), cell(seed=2), cell(split="test")]).splitlines()
    assert len(table) == 2 + 2
    assert "±" in table[2] and "±" not in table[3]


@pytest.mark.parametrize(
    "damage",
    [
        *({"metrics": None}, {"overlap": None}, {"seconds": "fast"}, {"task": ["sts"]}),
        {"metrics": {"accuracy": "high", "f1": None, "pearson": None, "spearman": None}},
    ],
)
def test_cells_that_the_table_cannot_show_are_refused_when_read(damage, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps([cell(**damage)]))
    with pytest.raises(DataError, match=r"results\.json"):
        RunFolder(tmp_path).finished_cells("b", "d")


@pytest.mark.parametrize("line", ['{"half', "{}", "[1]"])
def test_a_damaged_curve_file_is_one_clear_line(line, tmp_path):
    (tmp_path / "metrics.jsonl").write_text(f"{line}\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl"):
        RunFolder(tmp_path).add_curve("a", [{"step": 1}])
