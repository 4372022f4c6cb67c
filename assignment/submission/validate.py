"""`python -m assignment validate PATH`: all that is wrong with a submission, before it counts.

Every fault has its file, its line and what to do; the other commands ask the same `check`.
"""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from assignment.submission.dialects import (
    ASKED,
    CS224N,
    JOINT,
    SPLITS,
    Answer,
    Key,
    Named,
    is_predictions,
    named,
    numbered,
    passed_over,
    read_table,
)
from assignment.submission.opening import Document, open_submission, short
from data.examples import DataError
from data.locate import data_folder
from data.predictions import off_scale
from data.tasks import Task, files_in_doubt, split_file
from evaluation.metrics import is_labelled, labels_of
from runtime.options import option, parse

logger = logging.getLogger("assignment")

NAMED = 3  # ids named of those missing
LONGEST = 300  # characters of a fault
MOST_SHOWN = 20  # faults of a file
DATA = "folder with the tasks' files; bundled and cs224n name the included data and the course's"
CODES = "Exit codes: 0 success, 2 invalid input, 1 a bug in this project."


@dataclass(frozen=True)
class Expected:
    """The rows of one split, N of which count."""

    path: Path  # their file
    keys: list[Key]  # of the N rows, in order: what the rows of a document are matched by
    labels: np.ndarray | None  # (N,)
    more: set[str]  # ids of rows that may be predicted and do not count, without a readable label


class Gold:
    """A folder of the tasks' files, each of which is read once."""

    def __init__(self, folder: str | Path):
        """Look for the folder, a path or `bundled` or `cs224n`.

        Raises:
            DataError: it is not there.
        """
        self.folder = data_folder(str(folder))
        if not self.folder.is_dir():
            raise DataError(f"{self.folder}: no such folder; give the one with the tasks' files")
        self.expected = lru_cache(maxsize=None)(self._read)
        for task in ASKED.values():
            if choice := files_in_doubt(self.folder, task):
                logger.warning("%s: %s %s", self.folder, task.name, choice)

    def labels(self, task: str, split: str) -> np.ndarray | None:
        """Return the labels (N,) of a split, None where there are none."""
        expected = self.expected(task, split)
        return expected.labels if expected else None

    def place(self, task: str, answers: dict[Key, Answer]) -> Named | None:
        """Return the task and split of whose rows the first answer is."""
        id, _ = next(iter(answers), ("", 0))
        for split in SPLITS:
            expected = self.expected(task, split)
            if expected and (id, 1) in expected.keys:
                return Named(task, split)
        return None

    def right_name(self, task: str, split: str) -> str:
        """Return the name of a file of predictions, as the course spells it whose data these are.

        This is CS224N's code's where the data are CS224N's, or are not there.
        """
        data = split_file(self.folder, ASKED[task], split).name
        words = (word for word in ASKED[task].elsewhere if data.startswith(f"{word}-"))
        return f"{next(words, task)}-{split}-output.csv"

    def _read(self, task: str, split: str) -> Expected | None:
        """Return the rows of a split, None if its file is not there."""
        record = ASKED[task]
        path = split_file(self.folder, record, split)
        if not path.is_file():
            return None
        examples = record.read(path, labelled=None)
        keys = list(numbered(example.id for example in examples))
        # Rows that the course's reader drops for their labels are still asked for.
        more = {example.id for example in record.read(path, labelled=False)}
        labels = labels_of(examples) if is_labelled(examples) else None
        return Expected(path, keys, labels, more - {id for id, _ in keys})


@dataclass(frozen=True)
class Checked:
    """A document as read: `faults` make it wrong, `notes` do not.

    `task` and `split` are "" where neither name nor header and ids tell.
    """

    document: Document
    task: str
    split: str
    answers: dict[Key, Answer]
    faults: list[str]
    notes: list[str]

    @property
    def unanswered(self) -> int:
        return sum(answer.value is None for answer in self.answers.values())

    def predictions(self, expected: Expected) -> list[float | None]:
        """Return one answer per expected row, in their order; there must be no faults."""
        return [self.answers[key].value for key in expected.keys]


def check(document: Document, gold: Gold, any_name: bool = False) -> Checked:
    """Return a document with all of its faults and notes.

    With `any_name` a name that no course writes is fine: header and ids tell what it is.
    """
    faults: list[str] = []
    notes: list[str] = []
    shown, place = document.shown, named(document.name)
    task, answers, whole = read_table(document, faults)
    if task:
        notes += [f"{shown}: {note}" for note in _notes(task, answers)]
        if place is None:
            place = gold.place(task.name, answers)
            if place is None:
                faults.append(f"{shown}: its first row is in no file of {gold.folder}; rename it")
            elif not any_name:
                right = gold.right_name(place.task, place.split)
                faults.append(f"{shown}: not a name that the course knows; rename it {right}")
        expected = place and gold.expected(place.task, place.split)
        if place and expected is None:
            notes.append(f"{shown}: ids not checked, {gold.folder} lacks its data")
        elif place and expected and answers and not answers.keys() & set(expected.keys):
            actual = gold.place(place.task, answers)
            those = "; give the data that they are of (--data, --gold)"
            if actual:
                those = f", they are of {actual.task} {actual.split}; mixed up?"
            faults.append(f"{shown}: no row is of {expected.path}{those}")
        elif expected:
            faults += _unknown(shown, expected, answers)
            faults += _missing(shown, expected, answers) if whole else []
    faults.sort(key=lambda fault: _line(shown, fault))
    faults = [short(fault, LONGEST) for fault in faults]  # they quote what a stranger wrote
    name, split = (place.task, place.split) if place else ("", "")
    return Checked(document, name, split, answers, faults, notes)


def _line(shown: str, fault: str) -> float:
    """Return the line that a fault names; faults of the whole file come last."""
    line = fault.removeprefix(f"{shown}:").partition(":")[0]
    return int(line) if line.isdecimal() else math.inf


def _notes(task: Task, answers: dict[Key, Answer]) -> list[str]:
    """Return what is allowed, and yet seldom meant."""
    notes = []
    given = [answer.value for answer in answers.values() if answer.value is not None]
    empty, values = len(answers) - len(given), [value for value in given if value == value]
    if empty:
        notes.append(f"{empty:,} of {len(answers):,} rows give no answer; none of them scores")
    if outside := off_scale(values, task):
        notes.append(outside)
    if len(values) > 1 and min(values) == max(values):
        notes.append(f"all answers are {values[0]:g}")
    return notes


def _unknown(shown: str, expected: Expected, answers: dict[Key, Answer]) -> list[str]:
    """Return a fault for each row that is double, or is not expected."""
    faults = []
    wanted = set(expected.keys)
    for id, occurrence in answers.keys() - wanted:
        where = f"{shown}:{answers[id, occurrence].line}: id {id[:60]!r}"
        if (id, 1) in wanted:
            faults.append(f"{where} is on line {answers[id, 1].line} too; delete one")
        elif id not in expected.more:
            faults.append(f"{where} is not in {expected.path.name}; predict the rows of that file")
    return faults


def _missing(shown: str, expected: Expected, answers: dict[Key, Answer]) -> list[str]:
    """Return a fault that counts the rows without an answer, [] where none is missing."""
    missing = [id for id, occurrence in expected.keys if (id, occurrence) not in answers]
    if not missing:
        return []
    names = ", ".join(repr(id[:60]) for id in missing[:NAMED])
    more = ", ..." if len(missing) > NAMED else ""
    return [
        f"{shown}: {len(missing):,} of the {len(expected.keys):,} rows of {expected.path.name} "
        f"are missing ({names}{more}); predict every row"
    ]


def one_per_task(
    checked: Sequence[Checked], wanted: Iterable[tuple[str, str]], where: str, gold: Gold
) -> tuple[dict[tuple[str, str], Checked], list[str]]:
    """Return the document of each task and split wanted, and the faults of what there is.

    A name without an option in front goes before one with it: `sst-dev-output.csv` is of the
    course's second half, `finetune-sst-dev-out.csv` of its first. So does one outside a folder
    `multitask`, where Göttingen's code writes those of a joint model: a warning tells of these.
    """
    chosen: dict[tuple[str, str], Checked] = {}
    faults: list[str] = []
    joint: list[str] = []  # paths of files that do not count
    for task, split in wanted:
        candidates = [file for file in checked if (file.task, file.split) == (task, split)]
        plain = [f for f in candidates if (place := named(f.document.name)) and not place.option]
        candidates = plain or candidates
        if single := [file for file in candidates if not _is_joint(file)]:
            joint += [file.document.shown for file in candidates if _is_joint(file)]
            candidates = single
        if not candidates:
            faults.append(f"{where}: {gold.right_name(task, split)} is missing; add it")
        elif len(candidates) > 1:
            both = " and ".join(file.document.shown for file in candidates[:3])
            faults.append(f"{where}: {both} are both of {task} {split}; submit one of them")
        else:
            chosen[task, split] = candidates[0]
    if joint:
        these = f"{len(joint)} file(s) below {JOINT} do not count (the first: {joint[0]})"
        logger.warning("%s: %s; those above them do", where, these)
    return chosen, faults


def _is_joint(file: Checked) -> bool:
    return JOINT in PurePosixPath(file.document.shown).parts[:-1]


@dataclass(frozen=True)
class ValidateOptions:
    """`python -m assignment validate`."""

    path: Path = option(help="a file, folder or zip of predictions", flag="path", metavar="PATH")
    data: str = option("bundled", DATA, metavar="DIR")
    tasks: tuple[str, ...] = option(
        CS224N, "required tasks, with dev and test predictions", choices=tuple(ASKED)
    )


ABOUT: dict[str, Any] = {
    "prog": "python -m assignment validate",
    "description": """\
Check the format of a submission's predictions: file names, headers, rows, ids and values.
Every error has its file, its line and a remedy. Reads files of CS224N's minBERT project
(2023-24), of its GPT-2 project (para and sst), and of the course in Göttingen.""",
    "epilog": f"""\
examples:
  everything that CS224N's leaderboard requires; and the two tasks of the first half:
    python -m assignment validate predictions --data downloads/cs224n
    python -m assignment validate first.zip --data downloads/cs224n --tasks sst cfimdb
  the course in Göttingen, a repository next to this project:
    python -m assignment validate ../course/predictions --data ../course/data

An empty value is no answer, which the course allows. {CODES}""",
}


def main(argv: Sequence[str]) -> None:
    """Print what was found of each file, and each fault.

    Raises:
        DataError: there is a fault; all of them have been printed.
    """
    options = parse(ValidateOptions, argv, **ABOUT)
    path = options.path
    if (path / "results.json").is_file():
        raise DataError(f"{path}: a run; pack it first: python -m assignment package")
    gold = Gold(options.data)
    documents = open_submission(path)
    single = not path.is_dir() and path.suffix.lower() != ".zip"
    checked = [check(file, gold) for file in documents if single or is_predictions(file)]
    missing: list[str] = []
    if not single:
        missing = one_per_task(checked, product(options.tasks, SPLITS), str(path), gold)[1]
        if note := passed_over(documents):
            print(f"note: {note}")
    for file in checked:
        shown = file.document.shown
        if file.task and file.split:
            print(f"{shown}: {len(file.answers):,} rows of {file.task} {file.split}")
        for line in [*(f"note: {note}" for note in file.notes), *file.faults[:MOST_SHOWN]]:
            print(line)
        if len(file.faults) > MOST_SHOWN:
            print(f"{shown}: ... and {len(file.faults) - MOST_SHOWN:,} more faults")
    for line in missing:
        print(line)
    if faults := len(missing) + sum(len(file.faults) for file in checked):
        raise DataError(f"{path}: {faults:,} fault(s), listed above; correct them")
    print(f"{path}: valid for the course")
