"""What thresholds do is said per system, and only of those that have one."""

import json

import pytest
from made_cells import cell, para_cell

from data.examples import DataError
from report.run_folder import RunFolder
from report.thresholds import threshold_lines


def block(accuracy, f1):
    found = {"accuracy": (0.4, accuracy), "f1": (0.25, f1)}
    return {"n": 100} | {
        metric: {"threshold": threshold, "value": value, "interval": None}
        for metric, (threshold, value) in found.items()
    }


def test_seeds_join_into_one_line():
    cells = [para_cell(threshold=block(0.5, 0.75)), para_cell(seed=2, threshold=block(0.7, 0.25))]
    assert threshold_lines([*cells, cell()]) == [
        "para dev, none, frozen, bi: accuracy 0.500 at 0.5, 0.600 at 0.40; "
        "f1 0.250 at 0.5, 0.500 at 0.25"
    ]


def test_cells_without_held_out_pairs_have_no_line():
    assert threshold_lines([cell(), para_cell()]) == []


@pytest.mark.parametrize("damage", [{"threshold": {"n": 1}}, {"interval": {"f1": {"low": "x"}}}])
def test_damaged_blocks_are_one_clear_line(damage, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps([para_cell().to_json() | damage]))
    with pytest.raises(DataError, match="not a run's results"):
        RunFolder(tmp_path).cells()
