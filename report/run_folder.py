"""The run folder: config, results, curves and predictions; files appear whole or not at all."""

import json
import os
import platform
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from data.examples import DataError, Example
from data.tables import number, numbered_lines
from data.tasks import SPLITS, TASKS, Splits
from evaluation.table import csv_text
from heads.config import READERS
from report.cell import Cell, Coordinates, csv_columns, phenomena_rows
from runtime.files import alone_in, link, read_json, sweep, whole_file, write_text

CURVES = "metrics.jsonl"
COMPARISONS = "comparisons.json"
COSTS = "costs.json"
PACKAGES = ("torch", "numpy", "tokenizers", "scikit-learn", "scipy", "safetensors")


class RunFolder:
    """One folder under `runs/`; `read_only` in processes that leave writing to another."""

    def __init__(self, path: Path, read_only: bool = False):
        self.path, self.read_only = path, read_only

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other commands out of the folder for the block.

        Not only while a file is written: config, comparisons, predictions, heads and page of a
        folder belong together, and those of two commands at once would not.

        Raises:
            DataError: another command is writing into it, or it is no run's.
        """
        if self.read_only:
            yield
            return
        self.config()

        def refuse() -> None:
            raise DataError(
                f"{self.path}: another command is writing into it; wait for it, or give another "
                "--run-dir"
            )

        self.path.mkdir(parents=True, exist_ok=True)
        with alone_in(self.path / ".lock", refuse):
            sweep(self.path, deep=True)
            yield

    def finished_cells(self, backbone: str, data: str) -> dict[str, list[Cell]]:
        """Return the cells of an earlier run in this folder, by key (one cell per split).

        Raises:
            DataError: results.json is damaged, or comes from another backbone or other data:
                file names hold only what a grid varies, and these two are not part of it.
        """
        finished: dict[str, list[Cell]] = {}
        self.config()
        for cell in self.cells():
            if (cell.backbone, cell.data) != (backbone, data):
                made_by = f"--backbone {cell.backbone} --data {cell.data}"
                where = self.path / "results.json"
                raise DataError(f"{where}: from a run with {made_by}; give another --run-dir")
            finished.setdefault(cell.key, []).append(cell)
        return finished

    def cells(self) -> list[Cell]:
        """Return the cells of results.json, [] where there is none.

        Raises:
            DataError: it is damaged.
        """
        path = self.path / "results.json"
        try:
            raw = read_json(path) if path.is_file() else []
            cells = [Cell.from_json(each) for each in raw]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise DataError(f"{path}: not a run's results ({error!r}); fix or delete it") from None
        # 0.14.0 knew an encoder `distilled`, whose cells are left out.
        return [cell for cell in cells if cell.encoder in READERS]

    def config(self) -> dict[str, Any]:
        """Return the settings of the run, config.json; {} where there is none.

        Raises:
            DataError: it is damaged, or not a run's but, say, a checkpoint's.
        """
        path = self.path / "config.json"
        try:
            config = read_json(path) if path.is_file() else {"options": {}}
            dict(config["options"])
        except (ValueError, TypeError, KeyError):
            hint = "give another --run-dir, or the folder of a run"
            raise DataError(f"{path}: not a run's config; {hint}") from None
        return dict(config)

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file."""
        self._write(name, json.dumps(content, indent=2) + "\n")

    def write_results(self, cells: Sequence[Cell], earlier: dict[str, list[Cell]]) -> None:
        """Write these cells, and the earlier ones that they do not replace, as JSON and CSV.

        Data that states what each row tests also yields phenomena.csv. Once a cell's results are
        written, its resumable state is deleted.
        """
        new = {cell.place() for cell in cells}
        kept = [cell for group in earlier.values() for cell in group]
        cells = [*cells, *(cell for cell in kept if cell.place() not in new)]
        self.write_json("results.json", [cell.to_json() for cell in cells])
        self._write_csv("results.csv", csv_columns(), [cell.row() for cell in cells])
        if tagged := phenomena_rows(cells):
            self._write_csv("phenomena.csv", list(tagged[0]), tagged)
        if not self.read_only:
            for key in {cell.key for cell in cells}:
                for state in self.path.glob(f"state/*-{key}.*"):
                    state.unlink(missing_ok=True)

    def state_path(self, name: str, key: str) -> Path:
        """Return where a cell's resumable state is kept until its results are written."""
        return self.path / "state" / f"{name}-{key}.pt"

    def add_curve(self, name: str, history: Sequence[dict[str, Any]]) -> None:
        """Write a curve to metrics.jsonl, one dev check or epoch per line; replace an older one.

        Raises:
            DataError: what is there is damaged.
        """
        kept = [record for record in read_curves(self.path) if record["curve"] != name]
        new = [{"curve": name, **record} for record in history]
        self._write(CURVES, "".join(f"{json.dumps(record)}\n" for record in [*kept, *new]))

    def write_predictions(
        self, cell_name: str, task: str, split: str, ids: Sequence[str], predictions: np.ndarray
    ) -> None:
        """Write predictions as CS224N's starter code does, odd separators included.

        Paraphrase predictions are floats there (0.0 and 1.0), sentiment predictions integers.
        """
        record = TASKS[task]
        spelled = int if record.whole_predictions else float
        rows = [f"id \t {record.prediction_header} \n"]
        rows += [f"{id} , {spelled(value)} \n" for id, value in zip(ids, predictions, strict=True)]
        self._write(predictions_name(cell_name, task, split), "".join(rows))

    def predictions(self, cell: Cell, examples: Sequence[Example]) -> np.ndarray:
        """Return a cell's predictions (N,) of the examples that it was scored on.

        They are matched row by row, as they were written: ids may be odd, and occur twice.

        Raises:
            DataError: the file is missing or damaged, or of other examples.
        """
        path = self.predictions_path(cell)
        rows = [text.rstrip().rpartition(" , ") for _, text in numbered_lines(path)][1:]
        if [id for id, _, _ in rows] != [example.id for example in examples]:
            raise DataError(f"{path}: not the {len(examples):,} rows of the data as it is now")
        values = [number(value) for _, _, value in rows]
        if None in values:
            line = values.index(None) + 2
            raise DataError(f"{path}:{line}: no prediction; delete the file and repeat the run")
        return np.array(values, np.float64)

    def head_path(self, name: str) -> Path:
        """Return where the trained head of a cell is."""
        return self.path / "heads" / f"{name}.safetensors"

    def has_head(self, head: Coordinates, key: str, splits: Splits) -> bool:
        """Return whether the files of a finished head are there: it, and its predictions."""
        from minbert.checkpoint import read_about  # the autograder has no minbert

        saved = read_about(self.head_path(head.name)).get("key") == key
        predicted = [split for split in SPLITS[1:] if getattr(splits, split)]
        names = (predictions_name(head.name, head.task, split) for split in predicted)
        return saved and all((self.path / name).is_file() for name in names)

    def predictions_path(self, cell: Cell) -> Path:
        """Return where the predictions of a cell are."""
        return self.path / predictions_name(cell.name, cell.task, cell.split)

    def write_soft(self, cell: Cell, ids: Sequence[str], **arrays: np.ndarray) -> None:
        """Write what lies behind the predictions of a labelled split, as an .npz file.

        Args:
            cell: whose predictions they are.
            ids: of the N examples.
            arrays: `soft`, (N,) or (N, C) probabilities, or (N,) scores; of a bi-encoder's
                similarities also `cosines` (N,), without any head.
        """
        if not self.read_only:
            small: dict[str, Any] = {name: a.astype(np.float32) for name, a in arrays.items()}
            with whole_file(self._soft_path(cell)) as path, path.open("wb") as file:
                np.savez(file, ids=np.array(ids, dtype=np.str_), **small)

    def soft(self, cell: Cell, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        """Return what `write_soft` wrote of the examples that the cell was scored on.

        Returns:
            {} if there is no such file (of an earlier version), or it is not of these examples.
        """
        path = self._soft_path(cell)
        if not path.is_file():
            return {}
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            same = arrays.pop("ids").tolist() == [example.id for example in examples]
            return {name: a.astype(np.float64) for name, a in arrays.items()} if same else {}
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
            return {}

    def _soft_path(self, cell: Cell) -> Path:
        path = self.predictions_path(cell)
        return path.with_name(path.name.replace("-output.csv", "-soft.npz"))

    def link(self, name: str, target: Path) -> None:
        """Make `name` a relative link to a folder outside, so that runs/ can be moved."""
        if not self.read_only:
            link(self.path / name, target)

    def _write_csv(self, name: str, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
        self._write(name, csv_text(keys, [[row[key] for key in keys] for row in rows]))

    def _write(self, name: str, content: str) -> None:
        if not self.read_only:
            write_text(self.path / name, content)


def read_curves(run: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's metrics.jsonl, each with its curve's name; [] without the file.

    Raises:
        DataError: it is damaged.
    """
    path = run / CURVES
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        records = [dict(json.loads(line)) for line in lines]
        if any(not isinstance(record["curve"], str) for record in records):
            raise TypeError("a curve's name is no text")
        values = [value for record in records for value in record.values()]
        for number in (value for value in values if isinstance(value, int)):
            float(number)  # a figure has no room for 10 ** 400
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"  # a repr would quote the whole file
        raise DataError(f"{path}: not a run's curves ({reason}); fix or delete it") from None
    return records


def predictions_name(cell_name: str, task: str, split: str) -> str:
    """Return where in a run folder the predictions of a cell are."""
    return f"predictions/{cell_name}/{task}-{split}-output.csv"


def provenance() -> dict[str, Any]:
    """Return the versions of Python and the main packages, the machine, and the code's commit."""
    packages: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    try:
        # The commit, and whether files differ from it; None outside git.
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        commit = described.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        commit = None
    return {
        "python": platform.python_version(),
        "packages": packages,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "commit": commit,
    }
