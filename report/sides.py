"""The two sides of a comparison: two runs, or two files of predictions, and the gold labels.

Reads: run folders, prediction files, data. Feeds: compare.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.examples import DataError, Example
from data.locate import data_folder
from data.predictions import Predictions, read_predictions
from data.tasks import SPLITS, TASKS, Task, split_file
from evaluation.scoring import labels_of
from evaluation.significance import Pair
from report.cell import Cell
from report.run_folder import RunFolder

SIDES = ("A", "B")

Systems = dict[str, dict[int, Cell]]  # of a run: name -> seed -> cell


@dataclass(frozen=True)
class Match:
    """Systems of both sides on one split: what `report.verdict.judge` compares."""

    task: str
    split: str
    systems: dict[str, dict[int, np.ndarray]]  # name -> seed -> predictions (N,)
    pairs: list[Pair]
    labels: np.ndarray  # (N,)


@dataclass(frozen=True)
class Gold:
    """Where the gold labels are: in a folder of the tasks' files, or in one file."""

    data: str | None = None
    file: Path | None = None

    def path(self, task: Task, split: str, data: str = "bundled") -> Path:
        """Return the file of a split; `data` is its folder unless the user named another."""
        return self.file or split_file(data_folder(self.data or data), task, split)

    def holding(self, found: Predictions) -> tuple[str, Path]:
        """Return the split that holds the first predicted id, and its file; of a file, its name.

        Raises:
            DataError: none does.
        """
        if self.file is not None:
            return self.file.stem, self.file
        id, (line, _) = next(iter(found.values.items()))
        paths = {split: self.path(found.task, split) for split in SPLITS[1:]}
        for split, path in paths.items():
            if path.is_file() and id in {row.id for row in found.task.read(path, labelled=False)}:
                return split, path
        tried = " or ".join(map(str, paths.values()))
        raise DataError(
            f"{found.path}:{line}: id {id!r} is not in {tried}; name the file with the labels "
            "(--gold FILE) or its folder (--data DIR)"
        )


def matches(a: Path, b: Path, gold: Gold) -> list[Match]:
    """Return what two run folders, or two prediction files, have in common.

    Of runs, cells of the same system are matched: the same pre-training, encoder, tuning and
    features; where each run has one system for a task, these two. Systems are named by their side.

    Raises:
        DataError: there is nothing to compare, or a file is missing or broken.
    """
    for path in (a, b):
        if not path.exists():
            raise DataError(f"{path}: not found; expected a run folder or a file of predictions")
    if a.is_dir() != b.is_dir():
        raise DataError(f"{a}, {b}: a folder and a file; give two runs or two prediction files")
    return _of_runs(a, b, gold) if a.is_dir() else [_of_files(a, b, gold)]


def _of_files(a: Path, b: Path, gold: Gold) -> Match:
    files = [read_predictions(path) for path in (a, b)]
    task, other = (found.task for found in files)
    if task != other:
        raise DataError(f"{b}:1: predictions for {other.name}; {a} has {task.name}")
    split, path = gold.holding(files[0])
    examples = task.read(path)
    systems = {
        side: {0: np.array(found.aligned(examples, path))}
        for side, found in zip(SIDES, files, strict=True)
    }
    return Match(task.name, split, systems, [SIDES], labels_of(examples))


def _of_runs(a: Path, b: Path, gold: Gold) -> list[Match]:
    runs = RunFolder(a, read_only=True), RunFolder(b, read_only=True)
    first, second = (_by_place(run) for run in runs)
    found = []
    for (task, split), ours in first.items():
        theirs = second.get((task, split), {})
        names = [(name, name) for name in ours if name in theirs]
        if not names and len(ours) == len(theirs) == 1:
            names = [(next(iter(ours)), next(iter(theirs)))]
        if names:
            data = next(cell.data for cell in ours[names[0][0]].values())
            examples = TASKS[task].read(gold.path(TASKS[task], split, data))
            match = Match(task, split, {}, [], labels_of(examples))
            for pair in names:
                _add(match, pair, (ours, theirs), runs, examples)
            found.append(match)
    if not found:
        raise DataError(f"{a}, {b}: no task and split with cells of the same system in both")
    return found


def _by_place(run: RunFolder) -> dict[tuple[str, str], Systems]:
    found: dict[tuple[str, str], Systems] = {}
    for cell in run.cells():
        systems = found.setdefault((cell.task, cell.split), {})
        systems.setdefault(cell.system, {})[cell.seed] = cell
    if not found:
        raise DataError(f"{run.path}: no cells in results.json; expected the folder of a run")
    return found


def _add(
    match: Match,
    pair: Pair,
    cells: tuple[Systems, Systems],
    runs: tuple[RunFolder, RunFolder],
    examples: list[Example],
) -> None:
    """Add a system of each run to a match."""
    named = []
    for side, name, own, run in zip(SIDES, pair, cells, runs, strict=True):
        seeds = own[name]
        if all(len(both[one]) == 1 for both, one in zip(cells, pair, strict=True)):
            seeds = dict(enumerate(seeds.values()))  # one seed each, whichever it is
        named.append(f"{side} {name}")
        match.systems[named[-1]] = {
            seed: run.predictions(cell, examples) for seed, cell in seeds.items()
        }
    match.pairs.append((named[0], named[1]))
