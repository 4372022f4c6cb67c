"""The scored rows of a finished run, read again from the current place of its data."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from data.beir import read_searched
from data.examples import DataError
from data.locate import data_folder
from data.overlap import read_as
from data.pairs import read_pairs
from data.tasks import TASKS, Splits, Task, split_file
from minbert.spelling import spellings
from report.cell import Cell
from report.run_folder import RunFolder


class ScoredRows:
    """The labelled rows of a run: of the files of its tasks, or of the user's tables.

    Args:
        folder: the run folder.
        cells: the run's cells, which name the data.
        data: the current place of the files, a folder or a single table; None: the original place.
    """

    def __init__(self, folder: RunFolder, cells: Sequence[Cell], data: str | None = None):
        config = folder.config()
        options = config["options"]
        self._path, self._data = folder.path, data
        self._home = cells[0].data
        self._paths = [str(path) for path in options.get("pairs") or ()]
        self._columns = [str(name) for name in options.get("columns") or ()]
        self._seed, self._folds = options.get("seed", 42), options.get("folds") or 1
        self._options, self._directory = options, config.get("directory", ".")
        self._read: dict[str, Splits] = {}  # tables, by the name of their task
        self._digests: dict[str, Any] = config.get("sha256", {})

    def task(self, name: str) -> Task:
        """Return a task's record, with the scale and words of its file."""
        is_own = self._paths or name == "search"
        return (self.tables(name).task if is_own else None) or TASKS[name]

    def examples(self, name: str, split: str, gold: Path | None = None) -> list[Any]:
        """Return the rows of a split.

        Args:
            name: of the task.
            split: train, dev or test; all, for a table in folds.
            gold: the split's file, instead of the original one.

        Raises:
            DataError: a file is gone, or tables have changed since the run.
        """
        if self._paths or name == "search":
            if gold is not None:
                raise DataError(f"--gold {gold}: {self._path} has no such file; give --data")
            rows: list[Any] = getattr(self.tables(name), split)
            return rows
        path = gold or split_file(data_folder(self._data or self._home), TASKS[name], split)
        if not path.is_file():
            raise DataError(f"{path}: not found; give its current folder with --data DIR")
        return TASKS[name].read(path)

    @cached_property
    def _current(self) -> list[str]:
        """Return the current paths of the user's tables."""
        moved = Path(self._data) if self._data else None
        if moved is None:
            paths = self._paths
        elif moved.is_dir():
            paths = [str(moved / Path(path).name) for path in self._paths]
        elif len(self._paths) <= 1:
            paths = [str(moved)][: len(self._paths)]
        else:
            raise DataError(f"--data {moved}: expected the folder of {', '.join(self._paths)}")
        for path in paths:
            if not Path(path).is_file():
                raise DataError(f"{path}: not found; give its current path with --data FILE")
        return paths

    def tables(self, name: str) -> Splits:
        """Return the splits of the user's tables."""
        if name in self._read:
            return self._read[name]
        with read_as(spellings(self._options.get("backbone") or [], self._directory)):
            splits = self._tables(name)
        if splits.digest != self._digests.get(name):
            raise DataError(
                f"{', '.join(self._current) or self._home}: changed since {self._path} was "
                "written; run its command again, or give the original table with --data FILE"
            )
        self._read[name] = splits
        return splits

    def _tables(self, name: str) -> Splits:
        if name == "search":
            folder = data_folder(self._data if self._data and not self._paths else self._home)
            return read_searched(self._options, self._current, folder).splits
        return read_pairs(self._current, self._columns, name, self._seed, self._folds).splits
