"""Two runs or two prediction files side by side: `python -m report compare A B`."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.examples import DataError, Example
from data.locate import data_folder
from data.predictions import Predictions, read_predictions
from data.tasks import SPLITS, TASKS, Task, split_file
from evaluation.metrics import labels_of
from evaluation.significance import Pair, sentence, shown
from evaluation.table import csv_text, markdown
from report.cell import Cell
from report.run_folder import RunFolder
from report.verdict import Judged, Place, csv_rows, judge, to_json
from runtime.files import write_text
from runtime.streams import Say

SIDES = ("A", "B")

Systems = dict[str, dict[int, Cell]]  # of a run: name -> seed -> cell


@dataclass(frozen=True)
class Sides:
    """What is compared, and where the gold labels are: in a folder of the tasks' files, or a file.

    Attributes:
        a, b: two run folders, or two files of predictions.
        data: the folder; None: the runs' own, or the bundled one.
        gold: the file, instead of a folder.
    """

    a: Path
    b: Path
    data: str | None = None
    gold: Path | None = None

    def gold_path(self, task: Task, split: str, data: str = "bundled") -> Path:
        """Return the file of a split; `data` is its folder unless the user named another."""
        return self.gold or split_file(data_folder(self.data or data), task, split)


@dataclass(frozen=True)
class Match:
    """Systems of both sides on one split, named by their side."""

    systems: dict[str, dict[int, np.ndarray]]  # name -> seed -> predictions (N,)
    pairs: list[Pair]
    labels: np.ndarray  # (N,)


def compare(
    sides: Sides, say: Say = print, json_file: Path | None = None, csv_file: Path | None = None
) -> list[Judged]:
    """Compare two sides, print the table and a sentence per task, write the files asked for.

    Of runs, cells of the same system are compared: the same pre-training, encoder, tuning and
    features; where each run has one system for a task, these two.

    Raises:
        DataError: what is named cannot be compared; the message is one line.
        OSError: a file cannot be written.
    """
    a, b = sides.a, sides.b
    if sides.data is not None and sides.gold is not None:
        raise DataError("--data and --gold: the labels come from one of them; leave out the other")
    for path in (a, b):
        if not path.exists():
            raise DataError(f"{path}: not found; expected a run folder or a file of predictions")
    if a.is_dir() != b.is_dir():
        raise DataError(f"{a}, {b}: a folder and a file; give two runs or two prediction files")
    matches = _of_runs(sides) if a.is_dir() else _of_files(sides)
    judged = judge(
        {place: match.systems for place, match in matches.items()},
        {place: match.labels for place, match in matches.items()},
        {place: match.pairs for place, match in matches.items()},
    )
    if not any(each.comparisons for each in judged):
        raise DataError(f"{a}, {b}: no seed in common; compare runs of equal seeds")
    say(f"A  {a}\nB  {b}\n\n{_table(judged)}\n")
    for each in judged:
        for versus in each.comparisons:
            say(f"{each.task} {each.split}, {versus.metric}: {sentence(versus)}")
    if json_file:
        content = {"a": str(a), "b": str(b), **to_json(judged)}
        write_text(json_file, json.dumps(content, indent=1, allow_nan=False) + "\n")
    if csv_file:
        rows = csv_rows(judged)
        write_text(csv_file, csv_text(list(rows[0]), [list(row.values()) for row in rows]))
    return judged


def _table(judged: list[Judged]) -> str:
    """Return every metric of every system with its interval, as a Markdown table."""
    rows = []
    for each in judged:
        for estimate in each.estimates:
            value = "undefined" if estimate.mean is None else f"{estimate.mean:.3f}"
            spread = "" if estimate.deviation is None else f" ± {estimate.deviation:.3f}"
            place = [each.task, each.split, estimate.system, estimate.metric, str(estimate.n)]
            rows.append([*place, value + spread, shown(estimate.interval)])
    return markdown(["task", "split", "system", "metric", "n", "value", "95 %"], rows)


def _of_files(sides: Sides) -> dict[Place, Match]:
    files = [read_predictions(path) for path in (sides.a, sides.b)]
    task, other = (file.task for file in files)
    if task != other:
        raise DataError(f"{sides.b}:1: predictions for {other.name}; {sides.a} has {task.name}")
    split, path = _split_of(files[0], sides)
    examples = task.read(path)
    systems = {
        side: {0: np.array(file.aligned(examples, path))}
        for side, file in zip(SIDES, files, strict=True)
    }
    return {(task.name, split): Match(systems, [SIDES], labels_of(examples))}


def _split_of(predictions: Predictions, sides: Sides) -> tuple[str, Path]:
    """Return the split that holds the first predicted id, and its file; of a file, its name.

    Raises:
        DataError: none does.
    """
    if sides.gold is not None:
        return sides.gold.stem, sides.gold
    task = predictions.task
    id, (line, _) = next(iter(predictions.values.items()))
    paths = {split: sides.gold_path(task, split) for split in SPLITS[1:]}
    for split, path in paths.items():
        if path.is_file() and id in {row.id for row in task.read(path, labelled=False)}:
            return split, path
    tried = " or ".join(map(str, paths.values()))
    raise DataError(
        f"{predictions.path}:{line}: id {id!r} is not in {tried}; name the file with the labels "
        "(--gold FILE) or its folder (--data DIR)"
    )


def _of_runs(sides: Sides) -> dict[Place, Match]:
    runs = RunFolder(sides.a, read_only=True), RunFolder(sides.b, read_only=True)
    first, second = (_by_place(run) for run in runs)
    matches = {}
    for (task, split), ours in first.items():
        theirs = second.get((task, split), {})
        names = [(name, name) for name in ours if name in theirs]
        if not names and len(ours) == len(theirs) == 1:
            names = [(next(iter(ours)), next(iter(theirs)))]
        if names:
            data = next(cell.data for cell in ours[names[0][0]].values())
            examples: list[Example] = TASKS[task].read(sides.gold_path(TASKS[task], split, data))
            match = Match({}, [], labels_of(examples))
            for a, b in names:
                both = [ours[a], theirs[b]]
                if all(len(seeds) == 1 for seeds in both):
                    # One seed each, whichever it is.
                    both = [dict(enumerate(seeds.values())) for seeds in both]
                match.pairs.append((f"A {a}", f"B {b}"))
                for name, run, seeds in zip(match.pairs[-1], runs, both, strict=True):
                    match.systems[name] = {
                        seed: run.predictions(cell, examples) for seed, cell in seeds.items()
                    }
            matches[task, split] = match
    if not matches:
        raise DataError(
            f"{sides.a}, {sides.b}: no task and split with cells of the same system in both"
        )
    return matches


def _by_place(run: RunFolder) -> dict[Place, Systems]:
    places: dict[Place, Systems] = {}
    for cell in run.cells():
        systems = places.setdefault((cell.task, cell.split), {})
        systems.setdefault(cell.system, {})[cell.seed] = cell
    if not places:
        raise DataError(f"{run.path}: no cells in results.json; expected the folder of a run")
    return places
