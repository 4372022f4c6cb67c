"""Every score of a finished run is a function of the rows in its folder."""

from dataclasses import fields

import pytest
from conftest import toy_sentences
from toy_runs import GRID, cells_of, compare, small

from data.overlap import Seen
from data.pairs import read_pairs
from data.tasks import read_task
from evaluation.intervals import IN_FOLDS
from evaluation.scoring import AT_BEST, score_rows
from report.cell import Cell
from report.run_folder import RunFolder

COMPUTED = ("metrics", "interval", "threshold", "calibration", "both_orders", "before")


def near(value):
    """Return what numbers must be close to: those in the folder have seven digits."""
    if isinstance(value, dict):
        return {key: near(item) for key, item in value.items()}
    if isinstance(value, list):
        return [near(item) for item in value]
    return pytest.approx(value, abs=1e-5) if isinstance(value, float) else value


def scored_again(folder: RunFolder, cell: Cell, splits, wider: float = 1.0):
    examples = getattr(splits, cell.split)
    predictions = folder.predictions(cell, examples, splits.task)
    rows = {"predictions": predictions, **folder.soft(cell, examples)}
    chosen = {name: cell.threshold[name] for name in ("n", "cosine") if name in cell.threshold}
    chosen |= {n: cell.threshold[n]["threshold"] for n in AT_BEST if n in cell.threshold}
    return score_rows(cell.task, examples, rows, Seen(), chosen, wider), rows


def check(folder: RunFolder, cell: Cell, splits, wider: float = 1.0) -> set[str]:
    """Compare a cell with the scores of its rows; return the names of the rows."""
    again, rows = scored_again(folder, cell, splits, wider)
    empty = {field.name: {} for field in fields(Cell)}
    for name in COMPUTED:
        assert near(getattr(cell, name)) == again.get(name, empty[name]), (cell.name, name)
    assert near(cell.cls_cosine) == again.get("cls_cosine")
    return set(rows)


def test_of_a_grid(toy_grid, toy_data):
    folder = RunFolder(toy_grid, read_only=True)
    found = [check(folder, cell, read_task(toy_data, cell.task)) for cell in folder.cells()]
    assert len(found) > len(GRID)
    assert set().union(*found) == {
        *("predictions", "soft", "cosines", "cls_cosines", "cosine_calls", "swapped"),
    }


def test_of_a_sequential_training_and_of_a_table_in_folds(tiny_checkpoint, toy_data, tmp_path):
    joint = {"task": ("sst", "sts"), "tune": "joint", "schedule": "sequential"}
    compare(small(tiny_checkpoint, toy_data, tmp_path / "joint", **joint))
    folder = RunFolder(tmp_path / "joint", read_only=True)
    found = [check(folder, cell, read_task(toy_data, cell.task)) for cell in folder.cells()]
    assert any("before" in names for names in found)

    table = tmp_path / "my.tsv"
    pairs = zip(toy_sentences(130, 1), toy_sentences(130, 2), strict=True)
    lines = [f"{i} {a}\t{b} {i}\t{i % 2}" for i, (a, b) in enumerate(pairs)]
    table.write_text("\n".join(["text1\ttext2\tlabel", *lines]) + "\n")
    more = {"pairs": str(table), "select": "train"}
    compare(small(tiny_checkpoint, "bundled", tmp_path / "folds", **more))
    (cell,) = cells_of(tmp_path / "folds")
    folder = RunFolder(tmp_path / "folds", read_only=True)
    names = check(folder, cell, read_pairs([str(table)], folds=5).splits, IN_FOLDS)
    assert names >= {"accuracy_calls", "f1_calls", "cosine_calls"}
