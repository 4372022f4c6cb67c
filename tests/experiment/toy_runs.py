"""Runs on toy data, small enough for tests: by the command line's words, or as a program does."""

import json
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from matplotlib.figure import Figure

import run_multitask
from experiment.settings import Settings
from report.cell import Cell
from run_multitask import run as compare
from runtime.files import file_digest

__all__ = ["compare"]

SMALL = ["--simcse-steps", "4", "--eval-steps", "2", "--head-epochs", "2", "--device", "cpu"]
# The fewest cells, unless a test names more.
SMALL += ["--cost-seconds", "0", "--reader", "bi", "--no-baseline"]
# As in the course: the toy data is too small to hold out a part of train.
SMALL += ["--select", "dev"]
GRID = ["--pretrain", "none", "sup", "--task", "all", "--reader", "bi", "cross"]
GRID += ["--tune", "frozen", "full", "--pooling", "avg", "--geometry-steps", "2"]


def run(checkpoint, data, folder, *argv, figures=False) -> int:
    """Run a command line in this process; return its exit code.

    The page has its figures if `figures` is set, and empty ones otherwise: most tests do not look
    at them, and they would take a third of the time of such a run.
    """
    files = ["--backbone", str(checkpoint), "--data", str(data), "--run-dir", str(folder)]
    argv = [*files, *SMALL, "--precision", "float32", *argv]
    with nullcontext() if figures else patch.object(Figure, "savefig", empty):
        return run_multitask.main(argv)


def empty(figure, file, **settings) -> None:
    """Stand for `Figure.savefig`."""
    file.write("<svg></svg>")


@cache
def grid(checkpoint, data) -> Path:
    """Run a grid of two backbones, all tasks and both ways to tune; once for all files."""
    folder = checkpoint.parent / "runs" / "grid"
    assert run(checkpoint, data, folder, *GRID, figures=True) == 0
    return folder


def small(checkpoint, data, folder, **more: Any) -> Settings:
    """Return the settings of such a run, for `compare`, which is `run_multitask.run`."""
    simcse = {"max_steps": 4, "eval_steps": 2} | more.pop("simcse", {})
    return Settings(
        backbone=str(checkpoint), data=str(data), run_dir=Path(folder), device="cpu",
        precision="float32", simcse=simcse, head={"num_epochs": 2},
        **{"reader": "bi", "no_baseline": True, "select": "dev"} | more,
    )  # fmt: skip


def results(folder) -> list[dict[str, Any]]:
    """Return results.json as it stands there."""
    return json.loads((folder / "results.json").read_text())


def cells_of(folder) -> list[Cell]:
    """Return the cells in results.json."""
    return [Cell.from_json(entry) for entry in results(folder)]


def hashes_of(folder) -> dict[Path, str]:
    """Return the hash of every file below a folder."""
    return {path: file_digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def numbers(cell: Cell) -> dict[str, Any]:
    """Return all of a cell that a repetition must give again."""
    values = {key: value for key, value in cell.to_json().items() if "second" not in key}
    return values | {"choice": {k: v for k, v in cell.choice.items() if k != "seconds"}}
