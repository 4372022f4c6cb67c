"""The comparison as functions: cells are returned, errors raised, and nothing is printed."""

import shutil

import pytest
import toy_runs

from data.examples import DataError
from experiment.opening import find_inputs
from experiment.plan import plan
from experiment.settings import parse_options
from minbert.config import CheckpointError


def test_the_cells_returned_are_those_of_results_json(tiny_checkpoint, toy_data, tmp_path, capsys):
    settings = toy_runs.small(
        tiny_checkpoint, toy_data, tmp_path / "r", task=("sst", "sts"), encoder=("bi", "cross")
    )
    cells = toy_runs.compare(settings)
    assert [cell.to_json() for cell in cells] == toy_runs.results(tmp_path / "r")
    assert len({cell.name for cell in cells}) == len(cells) == 3
    assert toy_runs.compare(settings) == cells  # found, not computed: the same seconds
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "error"), [("backbone", CheckpointError), ("data", DataError)])
def test_what_is_wrong_is_raised(name, error, tiny_checkpoint, toy_data, tmp_path):
    places = {"backbone": tiny_checkpoint, "data": toy_data} | {name: "./nowhere"}
    with pytest.raises(error, match="nowhere"):
        toy_runs.compare(toy_runs.small(*places.values(), tmp_path / "r"))


def test_a_dry_run_says_the_whole_plan_and_does_nothing(tiny_checkpoint, toy_data, tmp_path):
    lines = []
    grid = {"pretrain": ("none", "sup"), "task": "all", "encoder": ("bi", "cross"), "seeds": 2}
    settings = toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "r", dry_run=True, **grid)
    assert toy_runs.compare(settings, lines.append) == []
    text = "\n".join(lines)
    for said in (
        *(str(tiny_checkpoint), str(toy_data), "cpu, float32 products", "nli_for_simcse.csv"),
        *("sst: 48 train, 16 dev, 8 test", "the best of 48 STS training pairs"),
        "20 head(s): sst bi-encoder, para bi-encoder, para cross-encoder, sts bi-encoder, sts",
        "SimCSE: none sup; encoder: frozen; 2 seed(s), interaction features, preset quick",
    ):
        assert said in text, said
    # What ships is named with how to have the original.
    shipped = plan(find_inputs(parse_options(["--task", "sts"])))
    for hint in ("--backbone bert-base-uncased", "--data cs224n"):
        assert hint in shipped and hint not in text
    assert not (tmp_path / "r").exists() and "not read" not in text


def test_the_plan_names_the_files_where_a_folder_leaves_a_choice(
    tiny_checkpoint, toy_data, tmp_path
):
    data = shutil.copytree(toy_data, tmp_path / "data")
    shutil.copy(data / "sts-dev.csv", data / "sts-test.csv")
    lines = []
    settings = toy_runs.small(tiny_checkpoint, data, tmp_path / "r", dry_run=True, task="sts")
    toy_runs.compare(settings, lines.append)
    said = "sts: reads sts-train.csv, sts-dev.csv, sts-test-student.csv; there too, and not read: "
    assert said + "sts-test.csv\n" in "\n".join(lines)
