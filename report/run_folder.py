"""The run folder: config, results, curves and predictions; files appear whole or not at all.

Reads: cells, as dictionaries. Feeds: the user, and the next run of the same command.
"""

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from data.examples import DataError
from evaluation.metrics import METRICS
from report.phenomena import phenomena_rows
from report.provenance import digest

Cell = dict[str, Any]

# CS224N's headers, their spelling included.
PREDICTION_HEADERS = {
    "sst": "Predicted_Sentiment",
    "para": "Predicted_Is_Paraphrase",
    "sts": "Predicted_Similiary",
}
CSV_KEYS = (
    *("pretrain", "task", "encoder", "tune", "features", "backbone", "data", "seed", "split", "n"),
    *("accuracy", "f1", "pearson", "spearman", "cosine_spearman"),
    *("seconds", "sentences_per_second"),
)

# What changes where or how a run is done, but not its numbers.
NOT_SETTINGS = ("run_dir", "resume", "dry_run", "threads")


def run_name(options: dict[str, Any]) -> str:
    """Return a readable folder name that differs when any setting differs."""
    settings = {key: value for key, value in options.items() if key not in NOT_SETTINGS}
    words = ("+".join(options[grid]) for grid in ("pretrain", "task", "encoder"))
    return "_".join((*words, options["tune"], digest(settings)[:8]))


def _coordinates(cell: Cell) -> tuple[Any, ...]:
    """What tells the cells of one folder apart."""
    names = ("pretrain", "task", "encoder", "tune", "features", "seed", "split")
    return tuple(cell[name] for name in names)


def _check_cell(cell: Cell) -> None:
    """Read all that the table shows; a cell that lacks some of it raises KeyError or TypeError."""
    hash(_coordinates(cell))  # lists in their place cannot be compared
    for number in (
        *(cell["n"], cell["seconds"], cell["sentences_per_second"], cell["overlap"]["sentences"]),
        *(cell["metrics"][name] for name in METRICS),
        cell["metrics"].get("cosine_spearman"),
        *cell["overlap"]["metrics_on_rest"].values(),
        *(found[key] for found in cell.get("phenomena", {}).values() for key in ("n", "error")),
    ):
        if number is not None:
            float(number)


class RunFolder:
    """One folder under `runs/`; `read_only` for processes that leave the writing to another."""

    def __init__(self, path: Path, read_only: bool = False):
        self.path, self.read_only = path, read_only

    def finished_cells(self, backbone: str, data: str) -> dict[str, list[Cell]]:
        """Return the cells of an earlier run of this folder, by their key (one a split).

        Raises:
            DataError: results.json was damaged, or is of another backbone or other data: files
                here are named by what a grid varies, and these are not part of it.
        """
        finished: dict[str, list[Cell]] = {}
        sources = set()
        self._check_is_ours()
        path = self.path / "results.json"
        try:
            for cell in json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []:
                _check_cell(cell)
                sources.add((cell["backbone"], cell["data"]))
                finished.setdefault(cell["key"], []).append(cell)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: not a run's results ({error!r}); delete or mend it") from None
        for other in sources - {(backbone, data)}:
            made_by = "--backbone {} --data {}".format(*other)
            raise DataError(f"{path}: of a run with {made_by}; give another --run-dir")
        return finished

    def _check_is_ours(self) -> None:
        """A folder whose config.json is not a run's (a checkpoint's, say) is not written to."""
        path = self.path / "config.json"
        try:
            if path.is_file() and "options" not in json.loads(path.read_text(encoding="utf-8")):
                raise DataError(f"{path}: not a run's config; give another --run-dir")
        except (ValueError, TypeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path}: not a run's config; give another --run-dir") from None

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file."""
        self._write(name, json.dumps(content, indent=2) + "\n")

    def write_results(self, cells: Sequence[Cell], earlier: dict[str, list[Cell]]) -> None:
        """Write these cells, and earlier ones they do not replace, as JSON and CSV.

        Data that say what each row tests give phenomena.csv as well. A cell whose results are safe
        needs no resumable state any more.
        """
        new = {_coordinates(cell) for cell in cells}
        kept = [cell for group in earlier.values() for cell in group]
        cells = [*cells, *(cell for cell in kept if _coordinates(cell) not in new)]
        self.write_json("results.json", cells)
        self._write_csv("results.csv", CSV_KEYS, [{**cell, **cell["metrics"]} for cell in cells])
        if tagged := phenomena_rows(cells):
            self._write_csv("phenomena.csv", list(tagged[0]), tagged)
        if not self.read_only:
            for key in {cell["key"] for cell in cells}:
                for state in self.path.glob(f"state/*-{key}.pt"):
                    state.unlink(missing_ok=True)

    def state_path(self, name: str, key: str) -> Path:
        """Return where the resumable state of a cell lies until its results are written."""
        return self.path / "state" / f"{name}-{key}.pt"

    def add_curve(self, name: str, history: Sequence[dict[str, Any]]) -> None:
        """Put a curve into metrics.jsonl, one dev check or epoch a line, for an older one."""
        path = self.path / "metrics.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        try:
            kept = [line for line in lines if json.loads(line)["curve"] != name]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: not a run's curves ({error!r}); delete or mend it") from None
        new = [json.dumps({"curve": name, **record}) for record in history]
        self._write("metrics.jsonl", "".join(f"{line}\n" for line in [*kept, *new]))

    def write_predictions(
        self, cell_name: str, task: str, split: str, ids: Sequence[str], predictions: np.ndarray
    ) -> None:
        """Write predictions as CS224N's starter code does, odd separators included.

        Paraphrase predictions are floats there (0.0 and 1.0), sentiment integers.
        """
        kind = int if task == "sst" else float
        rows = [f"id \t {PREDICTION_HEADERS[task]} \n"]
        rows += [f"{id} , {kind(value)} \n" for id, value in zip(ids, predictions, strict=True)]
        self._write(f"predictions/{cell_name}/{task}-{split}-output.csv", "".join(rows))

    def link(self, name: str, target: Path) -> None:
        """Point `name` at a folder outside, relatively, so that runs/ can be moved."""
        if self.read_only:
            return
        link = self.path / name
        link.parent.mkdir(parents=True, exist_ok=True)
        temporary = link.with_name(f".{link.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(os.path.relpath(target.resolve(), link.parent.resolve()))
        os.replace(temporary, link)

    def _write_csv(self, name: str, keys: Sequence[str], rows: Sequence[Cell]) -> None:
        table = io.StringIO()
        writer = csv.DictWriter(table, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self._write(name, table.getvalue())

    def _write(self, name: str, content: str) -> None:
        if self.read_only:
            return
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(content, encoding="utf-8")
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
