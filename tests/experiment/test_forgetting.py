"""The study of forgetting: its rows, and that a second call computes nothing again."""

import csv
import shlex
from dataclasses import replace

import pytest
from toy_runs import cells_of

from data.tasks import TASKS
from experiment.ablate.__main__ import ablate
from experiment.ablate.measuring import grid_settings, grids, scored_on
from experiment.ablate.recipes import TABLES, AblateOptions, command_of
from experiment.settings import parse_options
from heads.config import REPORT_ORDER

TUNES = {"own model": "full", "sequential, replay": "joint-sequential+replay"}
ROWS = tuple(f"{task}: {how}" for how in TUNES for task in REPORT_ORDER)


@pytest.fixture(scope="module")
def options(tiny_checkpoint, toy_data, tmp_path_factory):
    return AblateOptions(
        names=("forgetting",), rows=ROWS,
        seeds=1, backbone=str(tiny_checkpoint), data=str(toy_data), device="cpu",
        precision="float32", threads=1, out=tmp_path_factory.mktemp("forgetting"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def said(options):
    lines = []
    assert ablate(options, lines.append) == 0
    return lines


def test_the_table_is_measured_on_the_cells_of_one_run_folder(options, said):
    with (options.out / "forgetting.csv").open() as file:
        found = {line["row"]: line for line in csv.DictReader(file)}
    assert tuple(found) == ROWS
    (folder,) = (options.out / "runs").glob("forgetting-????????")
    trained = [line for line in said if line.startswith("cell ") and "done earlier" not in line]
    assert len([line for line in trained if "frozen" not in line]) == len(ROWS)
    cells = {(cell.task, cell.tune): cell for cell in cells_of(folder)}
    assert len(cells) == len(ROWS)
    for row, line in found.items():
        task, _, how = row.partition(": ")
        cell, metric = cells[task, TUNES[how]], TASKS[task].main_metric
        for column, metrics in (("score", cell.metrics), ("before", cell.before)):
            value = metrics.get(metric)
            assert line[column] == ("" if value is None else str(value))
        assert bool(cell.before) == ("sequential" in how) and line["key"] == cell.key


def test_the_test_split_is_scored_on_where_it_has_labels(options, said):
    (folder,) = (options.out / "runs").glob("forgetting-????????")
    cells = cells_of(folder)  # toy data: dev only
    held_out, table = TABLES["forgetting"], TABLES["report"]
    assert {cell.split for cell in scored_on(cells, held_out)} == {"dev"}
    more = [*cells, *(replace(cell, split="test") for cell in cells if cell.task == "sts")]
    assert scored_on(more, table) == cells
    found = [(cell.task, cell.split) for cell in scored_on(more, held_out)]
    assert set(found) == {("sst", "dev"), ("sts", "test"), ("para", "dev")}
    assert len(found) == len(ROWS)


def test_one_row_of_a_joint_training_can_be_asked_for(options, said, monkeypatch):
    for name in ("heads.joint.fit_joint", "heads.train.fit_head"):
        monkeypatch.setattr(name, None)  # calling them would fail: nothing is trained again
    lines = []
    assert ablate(replace(options, rows=("sst: sequential, replay",)), lines.append) == 0
    assert "| sst: sequential, replay" in lines[-2]


def test_rows_of_whole_runs_give_their_commands_settings(options):
    """The command of a row, typed, trains what the row was measured on."""
    table = TABLES["forgetting"]
    for rows in grids(table):
        settings = grid_settings(table, rows, options)
        (tune,) = {row.settings["tune"] for row in rows}
        assert settings.tunings[-1].startswith(tune) and set(settings.tasks) == set(REPORT_ORDER)
        found = parse_options(shlex.split(command_of(replace(settings, resume=False)))[2:])
        assert replace(found, resume=True) == settings
