"""The study of forgetting: its rows, and that a second call computes nothing again."""

import csv
from dataclasses import replace

import pytest
from toy_runs import cells_of

from data.tasks import TASKS
from experiment.ablate import measuring
from experiment.ablate.__main__ import ablate
from experiment.ablate.recipes import TABLES, AblateOptions
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
        assert bool(cell.before) == ("sequential" in how)


def test_the_test_split_is_scored_on_where_it_has_labels(options, said):
    (folder,) = (options.out / "runs").glob("forgetting-????????")
    cells = cells_of(folder)  # toy data: dev only
    row = next(row for row in TABLES["forgetting"].rows if row.label.startswith("sts: "))
    more = [*cells, *(replace(cell, split="test") for cell in cells)]
    for held_out, split in ((True, "test"), (False, "dev")):
        table = replace(TABLES["forgetting"], held_out=held_out)
        found = measuring.cells_of(row, more, table)
        assert {(cell.task, cell.split) for cell in found} == {("sts", split)}
        assert {cell.split for cell in measuring.cells_of(row, cells, table)} == {"dev"}


def test_one_row_of_a_joint_training_can_be_asked_for(options, said, monkeypatch):
    monkeypatch.setattr("heads.train.fit_heads", None)  # nothing is trained again
    lines = []
    assert ablate(replace(options, rows=("sst: sequential, replay",)), lines.append) == 0
    assert "| sst: sequential, replay" in lines[-2]
