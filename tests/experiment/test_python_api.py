"""The comparison as functions: cells are returned, errors raised, and nothing is printed."""

import subprocess
import sys

import pytest
import toy_runs
from command import ROOT

from data.examples import DataError
from minbert.config import CheckpointError
from runtime.errors import UserError


def test_the_cells_returned_are_those_of_results_json(tiny_checkpoint, toy_data, tmp_path, capsys):
    settings = toy_runs.small(
        tiny_checkpoint, toy_data, tmp_path / "r", pretrain=("none", "sup"),
        task=("sst", "sts"), encoder=("bi", "cross"),
    )  # fmt: skip
    cells = toy_runs.compare(settings)
    assert cells == toy_runs.cells_of(tmp_path / "r")
    assert [cell.to_json() for cell in cells] == toy_runs.results(tmp_path / "r")
    assert len({cell.name for cell in cells}) == len(cells) == 2 * 3
    assert toy_runs.compare(settings) == cells  # found, not computed: the same seconds
    assert capsys.readouterr().out == ""


def test_a_program_and_the_command_line_find_the_same_numbers(tiny_checkpoint, toy_data, tmp_path):
    toy_runs.run(tiny_checkpoint, toy_data, tmp_path / "a" / "r", "--pretrain", "sup")
    settings = toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "b" / "r", pretrain="sup")
    found = [toy_runs.numbers(cell) for cell in toy_runs.compare(settings)]
    assert found == [toy_runs.numbers(cell) for cell in toy_runs.cells_of(tmp_path / "a" / "r")]


def test_what_is_wrong_is_raised_not_printed(tiny_checkpoint, toy_data, tmp_path, capsys):
    for backbone, data, error in (
        ("./nowhere", toy_data, CheckpointError),
        (tiny_checkpoint, tmp_path / "nowhere", DataError),
    ):
        assert issubclass(error, UserError)
        with pytest.raises(error, match="nowhere"):
            toy_runs.compare(toy_runs.small(backbone, data, tmp_path / "r"))
    assert capsys.readouterr().err == "" and not (tmp_path / "r").exists()


def test_the_documented_import_gives_the_function():
    code = "from run_multitask import Settings, run\nassert callable(run)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["run_multitask", "experiment.settings"])
def test_the_command_line_loads_neither_torch_nor_numpy(module):
    heavy = ("torch", "numpy", "scipy", "tokenizers")
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
