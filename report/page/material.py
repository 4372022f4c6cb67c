"""What a page is made of: a run folder's files, and the labelled examples that it scored.

Legend: N rows of a split, C classes. Reads: run folders, data. Feeds: the sections.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from data.examples import DataError, Example
from data.locate import data_folder
from data.tasks import TASKS, Splits, Task, split_file
from evaluation.scoring import labels_of
from evaluation.significance import Comparison, Estimate
from report.cell import Cell, best_known
from report.cost import COSTS
from report.past_run import PastRun
from report.run_folder import RunFolder, read_curves
from report.verdict import COMPARISONS, Judged, judge_cells, read_judged
from runtime.json_file import read_json

KINDS = ("bi", "cross")


@dataclass(frozen=True)
class Material:
    """A finished run.

    Attributes:
        run: its settings.
        cells: all of results.json.
        splits: the labelled dev and test examples of each task.
        judged: what the data can tell of the cells, as comparisons.json has it.
    """

    run: PastRun
    cells: list[Cell]
    splits: dict[str, Splits]
    judged: list[Judged]

    @classmethod
    def read(cls, path: Path, data: str | None = None) -> "Material":
        """Read a run folder and the labels of what it predicted.

        Args:
            path: the run folder.
            data: where the tasks' files are now; None: where they were.

        Raises:
            DataError: it is not the folder of a finished run, or something it needs is damaged or
                gone.
        """
        run = PastRun.read(path)
        if run is None:
            raise DataError(f"{path}: not a run folder; it has no results.json")
        if not run.cells or not (path / COMPARISONS).is_file():
            raise DataError(
                f"{path}: an unfinished run has no page; its command with --resume goes on"
            )
        folder = RunFolder(path, read_only=True)
        cells = folder.cells()
        home = data_folder(data or cells[0].data)
        splits = {task: _scored(home, TASKS[task], cells) for task in _tasks(cells)}
        judged = read_judged(folder, cells) or judge_cells(cells, splits, folder)
        return cls(run, cells, splits, judged)

    @cached_property
    def folder(self) -> RunFolder:
        """Return the run folder, which a page only reads."""
        return RunFolder(self.run.path, read_only=True)

    @cached_property
    def shown(self) -> list[Cell]:
        """Return the cells that sections are about: those of the test split if it has labels."""
        return best_known(self.cells)

    @property
    def tasks(self) -> list[Task]:
        """Return the tasks of the run."""
        return [TASKS[name] for name in _tasks(self.cells)]

    def cells_of(self, task: str) -> list[Cell]:
        """Return a task's cells among `shown`."""
        return [cell for cell in self.shown if cell.task == task]

    def label(self, cell: Cell) -> str:
        """Return a system's name without what all cells share: `sup bi`, or `sup bi full`."""
        return " ".join((cell.pretrain, cell.encoder, *self._varied(cell)))

    def setting(self, cell: Cell) -> str:
        """Return what bi- and cross-encoder are compared under: `sup`, or `sup full`."""
        return " ".join((cell.pretrain, *self._varied(cell)))

    def _varied(self, cell: Cell) -> list[str]:
        names = ("tune", "features")
        return [getattr(cell, name) for name in names if name in self._varying]

    @cached_property
    def _varying(self) -> set[str]:
        names = ("tune", "features")
        return {name for name in names if len({getattr(cell, name) for cell in self.cells}) > 1}

    @cached_property
    def labels_of_systems(self) -> dict[str, str]:
        """Return the label of every system by its full name."""
        return {cell.system: self.label(cell) for cell in self.cells}

    def systems(self, task: str) -> dict[str, list[Cell]]:
        """Return a task's systems by label: the cells of their seeds."""
        found: dict[str, list[Cell]] = {}
        for cell in self.cells_of(task):
            found.setdefault(self.label(cell), []).append(cell)
        return found

    def settings(self, task: str) -> dict[str, dict[str, list[Cell]]]:
        """Return, by setting, the cells of each encoder."""
        found: dict[str, dict[str, list[Cell]]] = {}
        for cell in self.cells_of(task):
            found.setdefault(self.setting(cell), {}).setdefault(cell.encoder, []).append(cell)
        return found

    def duels(self, task: str) -> dict[str, dict[str, list[Cell]]]:
        """Return the settings in which both encoders ran."""
        settings = self.settings(task)
        return {name: kinds for name, kinds in settings.items() if set(KINDS) <= set(kinds)}

    def examples(self, cell: Cell) -> list[Example]:
        """Return the N examples that a cell predicted."""
        found: list[Example] = getattr(self.splits[cell.task], cell.split)
        return found

    def labels(self, cell: Cell) -> np.ndarray:
        """Return their labels, (N,) float64."""
        return labels_of(self.examples(cell))

    def predictions(self, cell: Cell) -> np.ndarray:
        """Return a cell's predictions, (N,) float64."""
        # Several sections ask for the same file, of many rows in a large run.
        if cell.place() not in self._predicted:
            self._predicted[cell.place()] = self.folder.predictions(cell, self.examples(cell))
        return self._predicted[cell.place()]

    @cached_property
    def _predicted(self) -> dict[tuple[str, str], np.ndarray]:
        return {}

    def soft(self, cell: Cell, name: str = "soft") -> np.ndarray | None:
        """Return what lies behind them (see RunFolder.write_soft), None if it was not kept."""
        return self.folder.soft(cell, self.examples(cell)).get(name)

    def estimate(self, cell: Cell, metric: str) -> Estimate | None:
        """Return the metric of a cell's system: mean over seeds and interval."""
        for one in self.judged:
            if (one.task, one.split) == (cell.task, cell.split):
                for found in one.estimates:
                    if (found.system, found.metric) == (cell.system, metric):
                        return found
        return None

    @cached_property
    def comparisons(self) -> list[tuple[Judged, Comparison]]:
        """Return all paired comparisons."""
        return [(one, found) for one in self.judged for found in one.comparisons]

    @cached_property
    def curves(self) -> dict[str, list[dict[str, Any]]]:
        """Return metrics.jsonl: the records of each curve; {} if there is no such file."""
        found: dict[str, list[dict[str, Any]]] = {}
        for record in read_curves(self.run.path):
            found.setdefault(record.pop("curve"), []).append(record)
        return found

    @cached_property
    def costs(self) -> dict[str, Any] | None:
        """Return the content of costs.json, None if nothing was measured."""
        path = self.run.path / COSTS
        try:
            return dict(read_json(path)) if path.is_file() else None
        except (ValueError, TypeError) as error:
            raise DataError(f"{path}: not a run's costs ({error!r}); delete it") from None


def _tasks(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.task for cell in cells))


def _scored(home: Path, task: Task, cells: Sequence[Cell]) -> Splits:
    """Return the splits of a task that cells scored; the others, such as train, stay empty."""
    found: dict[str, list[Any]] = {"train": [], "dev": [], "test": []}
    for split in dict.fromkeys(cell.split for cell in cells if cell.task == task.name):
        path = split_file(home, task, split)
        if not path.is_file():
            raise DataError(f"{path}: not found; say where the data is now (--data DIR)")
        found[split] = task.read(path)
    return Splits(**found)
