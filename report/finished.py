"""A finished run, read once: the content of its folder and its labelled examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.examples import DataError, Example
from data.tasks import EVERY_ROW, TASKS, Splits, Task
from evaluation.significance import Estimate
from heads.config import READERS
from report.cell import Cell, best_known, of_most_labels
from report.judging import Judged, judge_cells, read_judged
from report.learning import LearningCurves, learning_curves
from report.rows import ScoredRows
from report.run_folder import COMPARISONS, RunFolder, read_curves
from report.verdict import setting

DUEL = ("bi", "cross")  # readers whose errors are compared row by row


@dataclass(frozen=True)
class FinishedRun:
    """The content of a page; all of it except learning curves is for the most labels.

    Attributes:
        folder: of the run.
        config: its settings, config.json.
        cells: of results.json.
        learning: the curves by number of labels.
        splits: the labelled dev and test examples of each task.
        judged: metrics and comparisons of the cells, as comparisons.json has them.
        curves: metrics.jsonl, the records of each curve.
    """

    folder: RunFolder
    config: dict[str, Any]
    cells: list[Cell]
    learning: list[LearningCurves]
    splits: dict[str, Splits]
    judged: list[Judged]
    curves: dict[str, list[dict[str, Any]]]

    @classmethod
    def read(cls, path: Path, data: str | None = None) -> "FinishedRun":
        """Read a run folder and the labels of its predicted examples.

        Args:
            path: the run folder.
            data: where the tasks' files are now; None: where they were.

        Raises:
            DataError: it is not the folder of a finished run, or a required file is damaged or
                missing.
        """
        folder = RunFolder(path, read_only=True)
        if not any((path / name).is_file() for name in ("config.json", "results.json")):
            raise DataError(f"{path}: not a run folder; it has no results.json")
        config, every = folder.config(), folder.cells()
        cells = of_most_labels(every)
        if not cells or not (path / COMPARISONS).is_file():
            raise DataError(
                f"{path}: an unfinished run has no page; finish it by its command with --resume"
            )
        rows = ScoredRows(folder, cells, data)
        splits = {task: _scored(rows, task, cells) for task in _tasks(cells)}
        return cls(
            folder,
            config,
            cells,
            learning_curves(every, splits, folder),
            splits,
            read_judged(folder, cells) or judge_cells(cells, splits, folder),
            read_curves(path),
        )

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def tasks(self) -> list[Task]:
        return [self.splits[name].task or TASKS[name] for name in _tasks(self.cells)]

    @property
    def shown(self) -> list[Cell]:
        """Return the cells for the sections: of the test split if it has labels."""
        return best_known(self.cells)

    def setting(self, cell: Cell) -> str:
        """Return the setting in which readers are compared: `supervised SimCSE, full`."""
        return ", ".join((setting(cell.stage), *self._varied(cell)))

    def label(self, cell: Cell) -> str:
        """Return a system's name without what all cells share: `bi-encoder, supervised SimCSE`."""
        several = len({other.stage for other in self.cells}) > 1
        stage = [setting(cell.stage)] if several else []
        depth = [f"best {cell.depth}"] if cell.depth else []
        return ", ".join((READERS[cell.reader], *stage, *self._varied(cell), *depth))

    def _varied(self, cell: Cell) -> list[str]:
        names = ("tune", "features")
        return [
            getattr(cell, name)
            for name in names
            if len({getattr(other, name) for other in self.cells}) > 1
        ]

    def settings(self, task: Task) -> dict[str, dict[str, list[Cell]]]:
        """Return a task's shown cells by setting and reader."""
        settings: dict[str, dict[str, list[Cell]]] = {}
        for cell in self.shown:
            if cell.task == task.name:
                readers = settings.setdefault(self.setting(cell), {})
                readers.setdefault(cell.reader, []).append(cell)
        return settings

    def duels(self, task: Task) -> dict[str, dict[str, list[Cell]]]:
        """Return the settings in which a bi- and a cross-encoder ran."""
        settings = self.settings(task)
        return {name: readers for name, readers in settings.items() if {*DUEL} <= {*readers}}

    def examples(self, cell: Cell) -> list[Example]:
        """Return the N examples that a cell predicted."""
        examples: list[Example] = getattr(self.splits[cell.task], cell.split)
        return examples

    def estimate(self, cell: Cell, metric: str) -> Estimate | None:
        """Return the metric of a cell's system: mean over seeds and interval."""
        for place in self.judged:
            if (place.task, place.split) == (cell.task, cell.split):
                return place.scores(metric).get(cell.system)
        return None


def _tasks(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.task for cell in cells))


def _scored(rows: ScoredRows, task: str, cells: Sequence[Cell]) -> Splits:
    """Return the splits of a task that cells scored; the others, such as train, stay empty."""
    of_task = [cell for cell in cells if cell.task == task]
    if of_task[0].split == EVERY_ROW or task == "search":  # the corpus is read, too
        return rows.tables(task)
    scored: dict[str, list[Any]] = {"train": [], "dev": [], "test": []}
    for split in dict.fromkeys(cell.split for cell in of_task):
        scored[split] = rows.examples(task, split)
    return Splits(scored["train"], scored["dev"], scored["test"], rows.task(task))
