"""The run folder: config, results, curves and predictions; files appear whole or not at all."""

import json
import platform
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from data.examples import DataError, Document, Example, Query
from data.table import number, numbered_lines
from data.tasks import Task
from evaluation.table import csv_text
from heads.config import with_reader
from report.cell import Cell, csv_columns, phenomena_rows
from runtime.files import alone_in, fault_of_sealed, link, read_json, sweep, whole_file, write_text
from runtime.machine import cores

CURVES = "metrics.jsonl"
COMPARISONS = "comparisons.json"
COSTS = "costs.json"
TRAININGS = "trainings"  # the kept ones; heads/, predictions/ and models/ link into them
MODEL = "model"  # in the folder of a training with a tuned encoder
PACKAGES = ("torch", "numpy", "tokenizers", "scikit-learn", "scipy", "safetensors")


class RunFolder:
    """One folder under `runs/`; `read_only` in processes that leave writing to another."""

    def __init__(self, path: Path, read_only: bool = False):
        self.path, self.read_only = path, read_only
        # By name, split and depth of a cell, the kept training of the cell.
        self._trainings: dict[tuple[str, str, int], Path] = {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder against other commands for the block.

        Raises:
            DataError: another command is writing into it, or it is not a run folder.
        """
        if self.read_only:
            yield
            return
        self.config()

        def refuse() -> None:
            advice = "wait for it, or give another --run-dir"
            raise DataError(f"{self.path}: another command is writing into it; {advice}")

        self.path.mkdir(parents=True, exist_ok=True)
        with alone_in(self.path / ".lock", refuse):
            sweep(self.path, deep=True)
            yield

    def cells(self) -> list[Cell]:
        """Return the cells of results.json, [] where there is none.

        Raises:
            DataError: it is damaged.
        """
        path = self.path / "results.json"
        try:
            entries = read_json(path) if path.is_file() else []
            cells = [Cell.from_json(entry) for entry in entries]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise DataError(f"{path}: not a run's results ({error!r}); fix or delete it") from None
        self._check_unchanged(cells)
        return cells

    def _check_unchanged(self, cells: Sequence[Cell]) -> None:
        """Compare cells with their kept trainings, which are sealed.

        Raises:
            DataError: a result, or a file that it was computed from, has changed or is missing.
        """
        kept = self.path / TRAININGS
        if not kept.is_dir() and "format" not in self.config():
            return  # a training, or a run from before 1.1
        measured: dict[tuple[str, str, int, str], tuple[Cell, Path]] = {}
        for training in sorted(kept.glob("*/")):
            for cell in RunFolder(training).cells():
                measured[*cell.place(), cell.key] = cell, training
        results = self.path / "results.json"
        for cell in cells:
            about = f"{results}: {cell.name} ({cell.split})"
            known, training = measured.get((*cell.place(), cell.key), (None, kept))
            if known is None:
                raise DataError(
                    f"{about} has no training in {kept}; run the command again to train it"
                )
            self._trainings[cell.place()] = training
            if cell != known:
                raise DataError(
                    f"{about} has changed since it was measured; run the command again to "
                    "restore it"
                )
        for training in dict.fromkeys(self._trainings.values()):
            if fault := fault_of_sealed(training):
                raise DataError(
                    f"{training}: {fault}; delete this folder and run the command again"
                )

    def config(self) -> dict[str, Any]:
        """Return the settings of the run, config.json; {} where there is none.

        Raises:
            DataError: it is damaged, or not a run's but, say, a checkpoint's.
        """
        path = self.path / "config.json"
        try:
            config = read_json(path) if path.is_file() else {"options": {}}
            config["options"] = with_reader(config["options"])
        except (ValueError, TypeError, KeyError):
            hint = "give another --run-dir, or the folder of a run"
            raise DataError(f"{path}: not a run's config; {hint}") from None
        return dict(config)

    def write_json(self, name: str, content: Any) -> None:
        self._write(name, json.dumps(content, indent=2) + "\n")

    def add_training(self, training: Path, name: str) -> list[Cell]:
        """Link the files of a kept training into this folder; return its cells."""
        for head, curve in read_curves(training).items():
            self.add_curve(head, curve)
        for path in (*training.glob("heads/*"), *training.glob("predictions/*/*")):
            self.link(path.relative_to(training).as_posix(), path)
        if (training / MODEL).is_dir():  # under the name of each head, where it is expected
            for head in (name, *(path.stem for path in training.glob("heads/*"))):
                self.link(f"models/{head}", training / MODEL)
        cells = RunFolder(training, read_only=True).cells()
        self._trainings |= {cell.place(): training for cell in cells}
        return cells

    def write_results(self, cells: Sequence[Cell]) -> None:
        """Write cells as JSON and CSV, and phenomena.csv if the data states what each row tests."""
        self.write_json("results.json", [cell.to_json() for cell in cells])
        columns = csv_columns(cells)
        self._write_csv("results.csv", columns, [cell.row(columns) for cell in cells])
        if tagged := phenomena_rows(cells):
            self._write_csv("phenomena.csv", list(tagged[0]), tagged)

    def add_curve(self, name: str, history: Sequence[dict[str, Any]]) -> None:
        """Write a curve to metrics.jsonl, one dev check or epoch per line; replace an older one.

        Raises:
            DataError: the existing file is damaged.
        """
        curves = read_curves(self.path)
        curves.pop(name, None)  # a new one is the last
        curves[name] = list(history)
        lines = [{"curve": name, **record} for name, curve in curves.items() for record in curve]
        self._write(CURVES, "".join(f"{json.dumps(line)}\n" for line in lines))

    def write_predictions(
        self,
        cell_name: str,
        task: Task,
        split: str,
        ids: Sequence[str],
        predictions: np.ndarray,
    ) -> None:
        """Write predictions as CS224N's starter code does, odd separators included.

        Paraphrase predictions are floats there (0.0 and 1.0), sentiment predictions integers.
        Predictions for the user's tables are in the words of their labels.
        """
        spelled = task.spelled if task.words else int if task.label_kind == "classes" else float
        rows = [f"id \t {task.prediction_header} \n"]
        rows += [f"{id} , {spelled(value)} \n" for id, value in zip(ids, predictions, strict=True)]
        self._write(predictions_name(cell_name, task.name, split), "".join(rows))

    def predictions(
        self, cell: Cell, examples: Sequence[Example], task: Task | None = None
    ) -> np.ndarray:
        """Return a cell's predictions (N,) for its scored examples.

        They are matched row by row in the order of the file, since ids may occur twice. `task` is
        the record with the words of the user's tables.

        Raises:
            DataError: the file is missing or damaged, or of other examples.
        """
        path = self.predictions_path(cell)
        rows = [text.rstrip() for _, text in numbered_lines(path)][1:]
        begins = [f"{example.id} , " for example in examples]
        if len(rows) != len(begins) or not all(map(str.startswith, rows, begins)):
            raise DataError(f"{path}: not the {len(examples):,} rows of the current data")
        written = [row.removeprefix(begin) for row, begin in zip(rows, begins, strict=True)]
        if task and task.words:
            values = [float(task.words.index(w)) if w in task.words else None for w in written]
        else:
            values = list(map(number, written))
        if None in values:
            line = values.index(None) + 2
            raise DataError(f"{path}:{line}: no prediction; delete the file and repeat the run")
        return np.array(values, np.float64)

    def write_ranking(
        self,
        cell_name: str,
        split: str,
        queries: Sequence[Query],
        corpus: Sequence[Document],
        ranked: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """Write the texts that were found for each query, the first one first, and their scores.

        Args:
            ranked: (Q, K) rows of the corpus, in the order in which they were found.
            scores: (Q, K) float32, which may rank them differently.
        """
        lines = ["query-id\tcorpus-id\trank\tscore\n"]
        for query, rows, of_query in zip(queries, ranked.tolist(), scores, strict=True):
            for rank, (row, score) in enumerate(zip(rows, of_query, strict=True), 1):
                lines.append(f"{query.id}\t{corpus[row].id}\t{rank}\t{score:.9g}\n")
        self._write(predictions_name(cell_name, "search", split), "".join(lines))

    def ranking(
        self, cell: Cell, queries: Sequence[Query], corpus: Sequence[Document]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what `write_ranking` wrote for a cell: rows (Q, K) and their scores (Q, K).

        Raises:
            DataError: the file is missing or damaged, or of other queries or texts.
        """
        path = self.predictions_path(cell)
        fields = [text.rstrip("\n").split("\t") for _, text in numbered_lines(path)][1:]
        places = {document.id: row for row, document in enumerate(corpus)}
        most = len(fields) // max(1, len(queries))
        wanted = [(query.id, str(rank)) for query in queries for rank in range(1, most + 1)]
        try:
            if [(query, rank) for query, _, rank, _ in fields] != wanted:
                raise ValueError
            rows = np.array([places[row] for _, row, _, _ in fields], np.int64)
            scores = np.array([score for *_, score in fields], np.float32)
        except (ValueError, KeyError):
            raise DataError(f"{path}: not a ranking of the current queries and texts") from None
        return rows.reshape(-1, most), scores.reshape(-1, most)

    def head_path(self, name: str) -> Path:
        return self.path / "heads" / f"{name}.safetensors"

    def predictions_path(self, cell: Cell) -> Path:
        """Return the path of a cell's predictions, which is in its sealed training."""
        folder = self._trainings.get(cell.place(), self.path)
        return folder / predictions_name(cell.name, cell.task, cell.split)

    def write_soft(self, cell: Cell, ids: Sequence[str], **arrays: np.ndarray) -> None:
        """Write what is behind the predictions of a labelled split, as an .npz file.

        The arrays are those of `evaluation.scoring.Rows`.
        """
        if not self.read_only:
            small: dict[str, Any] = {name: a.astype(np.float32) for name, a in arrays.items()}
            with whole_file(self._soft_path(cell)) as path, path.open("wb") as file:
                np.savez(file, ids=np.array(ids, dtype=np.str_), **small)

    def soft(self, cell: Cell, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        """Return the arrays of `write_soft`; {} if missing, damaged or of other examples."""
        path = self._soft_path(cell)
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


def read_curves(run: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of a run's metrics.jsonl by curve; {} without the file.

    Raises:
        DataError: it is damaged.
    """
    path = run / CURVES
    curves: dict[str, list[dict[str, Any]]] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
            record = dict(json.loads(line))
            name = record.pop("curve")
            if not isinstance(name, str):
                raise TypeError("a curve's name is no text")
            for value in record.values():
                if isinstance(value, int):
                    float(value)  # 10 ** 400 cannot be drawn
            curves.setdefault(name, []).append(record)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"  # a repr would quote the whole file
        raise DataError(f"{path}: not a run's curves ({reason}); fix or delete it") from None
    return curves


def predictions_name(cell_name: str, task: str, split: str) -> str:
    return f"predictions/{cell_name}/{task}-{split}-output.csv"


def provenance() -> dict[str, Any]:
    """Return the versions of Python and the main packages, the machine, and the code's commit."""
    from runtime.device import instructions  # loads PyTorch, which a reader of runs does without

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
        "packages": {name: version(name) for name in PACKAGES},
        "machine": (
            f"{platform.machine()} ({instructions()}), {cores()} cores, {platform.system()}"
        ),
        "commit": commit,
    }
