"""`python -m assignment validate PATH`: all that is wrong with a submission, before it counts.

Every fault has its file, its line and what to do; the other commands ask the same `check`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assignment.submission.dialects import (
    ASKED,
    CS224N,
    GPT2_ANSWERS,
    SPLITS,
    Named,
    Rows,
    is_predictions,
    named,
    read_rows,
)
from assignment.submission.opening import Document, open_submission, short
from data.examples import DataError, Example
from data.locate import data_folder
from data.predictions import off_scale, predicted_value
from data.tables import read_header
from data.tasks import Task, split_file
from evaluation.metrics import is_labelled, labels_of
from runtime.commands import exit_code
from runtime.options import option, parse

EXAMPLE = "sst-dev-output.csv (the code) or sst-dev-out.csv (the hand-out)"
NAMED = 3  # ids named of those missing
LONGEST = 300  # characters of a fault
DATA = (
    "folder with the tasks' files; bundled and cs224n stand for the project's own and the course's"
)
CODES = "Exit codes: 0 done, 2 wrong input, 1 a bug in this project."

Key = tuple[str, int]  # an id, and its how-manieth occurrence in the file


def numbered(ids: Iterable[str]) -> list[Key]:
    """Return ids with how often each has occurred up to there: one may occur twice in data."""
    seen: Counter[str] = Counter()
    found = []
    for id in ids:
        seen[id] += 1
        found.append((id, seen[id]))
    return found


@dataclass(frozen=True)
class Expected:
    """The rows of one split.

    Attributes:
        path: their file.
        examples: those that count, in order.
        more: ids of rows that may be predicted and do not count, as they have no readable label.
    """

    path: Path
    examples: list[Example]
    more: frozenset[str]

    @cached_property
    def keys(self) -> list[Key]:
        """Return what the rows of a document are matched by, in order."""
        return numbered(example.id for example in self.examples)


class Gold:
    """A folder of the tasks' files, each of which is read once.

    Args:
        folder: a path, or `bundled` or `cs224n`.

    Raises:
        DataError: it is not there.
    """

    def __init__(self, folder: str | Path):
        self.folder = data_folder(str(folder))
        if not self.folder.is_dir():
            raise DataError(f"{self.folder}: no such folder; give the one with the tasks' files")
        self.expected = lru_cache(maxsize=None)(self._read)

    def labels(self, task: str, split: str) -> np.ndarray | None:
        """Return the labels (N,) of a split, None where there are none."""
        expected = self.expected(task, split)
        if expected is None or not is_labelled(expected.examples):
            return None
        return labels_of(expected.examples)

    def _read(self, task: str, split: str) -> Expected | None:
        """Return the rows of a split, None if its file is not there.

        Raises:
            DataError: it is broken.
        """
        record = ASKED[task]
        path = split_file(self.folder, record, split)
        if not path.is_file():
            return None
        labelled = record.label in read_header(path, "\t")
        examples = record.read(path, labelled=labelled)
        # Rows that the course's reader drops for their labels are still asked for.
        ids = {example.id for example in record.read(path, labelled=False)}
        return Expected(path, examples, frozenset(ids - {example.id for example in examples}))


class Answer(NamedTuple):
    """The value of one row: None where it gives no answer, NaN where it is none."""

    line: int
    value: float | None


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
        """Return how many rows give no answer."""
        return sum(answer.value is None for answer in self.answers.values())

    def predictions(self, expected: Expected) -> list[float | None]:
        """Return one answer per example, in the examples' order; there must be no faults."""
        return [self.answers[key].value for key in expected.keys]


def check(document: Document, gold: Gold, any_name: bool = False) -> Checked:
    """Return a document with all of its faults and notes.

    Args:
        document: from `open_submission`.
        gold: the rows to be predicted.
        any_name: whether a name that no course writes is fine; header and ids then tell.
    """
    faults: list[str] = []
    notes: list[str] = []
    answers: dict[Key, Answer] = {}
    shown, place = document.shown, named(document.name)
    rows = read_rows(document, faults)
    record = ASKED[place.task] if place else rows.task
    if record is None:
        faults.append(f"{shown}: neither name nor header tells its task; rename it {EXAMPLE}")
    elif rows.task and rows.task.prediction_header != record.prediction_header:
        header = rows.task.prediction_header
        faults.append(f"{shown}:1: {header} is not of {record.name}; rename it, or the column")
    else:
        answers = _answers(shown, record, rows, faults)
        notes += _notes(shown, record, answers)
        found = place or _place(record.name, rows, gold)
        if found is None:
            faults.append(f"{shown}: its first row is in no file of {gold.folder}; rename it")
        elif place is None and not any_name:
            right = f"{found.task}-{found.split}-output.csv"
            faults.append(f"{shown}: not a name that the course knows; rename it {right}")
        place = found
        expected = place and gold.expected(place.task, place.split)
        if place and expected is None:
            notes.append(f"{shown}: ids not checked, {gold.folder} lacks its data")
        elif place and expected:
            faults += _compare(shown, place, expected, answers, rows, gold)
    task, split = (place.task, place.split) if place else ("", "")
    faults.sort(key=lambda fault: _line(shown, fault))
    faults = [short(fault, LONGEST) for fault in faults]  # they quote what a stranger wrote
    return Checked(document, task, split, answers, faults, notes)


def _line(shown: str, fault: str) -> float:
    """Return the line that a fault names; faults of the whole file come last."""
    line = fault.removeprefix(f"{shown}:").partition(":")[0]
    return int(line) if line.isdecimal() else math.inf


def _answers(shown: str, record: Task, rows: Rows, faults: list[str]) -> dict[Key, Answer]:
    """Return the answer of each row; add those that are no label to the faults."""
    answers = {}
    for key, row in zip(numbered(row.id for row in rows.rows), rows.rows, strict=True):
        value = None
        if row.answer:  # the hand-out allows an empty one
            value = math.nan
            # None of these is a class of ours, so nothing is taken for another answer.
            answer = (
                GPT2_ANSWERS.get(row.answer, row.answer) if record.name == "para" else row.answer
            )
            try:
                value = predicted_value(f"{shown}:{row.line}", answer, record)
            except DataError as error:
                faults.append(f"{error}; correct it, or leave it empty for no answer")
        answers[key] = Answer(row.line, value)
    return answers


def _notes(shown: str, record: Task, answers: dict[Key, Answer]) -> list[str]:
    """Return what is allowed, and yet seldom meant."""
    found = []
    given = [answer.value for answer in answers.values() if answer.value is not None]
    empty, values = len(answers) - len(given), [value for value in given if value == value]
    if empty:
        found.append(f"{empty:,} of {len(answers):,} rows give no answer; none of them scores")
    if outside := off_scale(values, record):
        found.append(outside)
    if len(values) > 1 and min(values) == max(values):
        found.append(f"all answers are {values[0]:g}")
    return [f"{shown}: {note}" for note in found]


def _place(task: str, rows: Rows, gold: Gold) -> Named | None:
    """Return the task and split of whose rows the first one is."""
    first = rows.rows[0].id if rows.rows else ""
    for split in SPLITS:
        if expected := gold.expected(task, split):
            if (first, 1) in expected.keys:
                return Named(task, split)
    return None


def _compare(
    shown: str,
    place: Named,
    expected: Expected,
    answers: dict[Key, Answer],
    rows: Rows,
    gold: Gold,
) -> list[str]:
    """Return which rows are unknown, double or missing."""
    wanted = set(expected.keys)
    if answers and not wanted & answers.keys():
        found = _place(place.task, rows, gold)
        those = f", they are of {found.task} {found.split}" if found else ""
        return [f"{shown}: no row is of {expected.path.name}{those}; mixed up?"]
    faults = []
    for (id, occurrence), answer in answers.items():
        where = f"{shown}:{answer.line}: id {id[:60]!r}"
        if (id, occurrence) in wanted:
            continue
        if (id, 1) in wanted:
            faults.append(f"{where} is on line {answers[id, 1].line} too; delete one")
        elif id not in expected.more:
            faults.append(f"{where} is not in {expected.path.name}; predict the rows of that file")
    missing = [id for id, occurrence in expected.keys if (id, occurrence) not in answers]
    if missing and rows.whole:
        names = ", ".join(repr(id[:60]) for id in missing[:NAMED])
        more = ", ..." if len(missing) > NAMED else ""
        faults.append(
            f"{shown}: {len(missing):,} of the {len(wanted):,} rows of "
            f"{expected.path.name} are missing ({names}{more}); predict every row"
        )
    return faults


def one_per_task(
    checked: Sequence[Checked], wanted: Iterable[tuple[str, str]], where: str
) -> tuple[dict[tuple[str, str], Checked], list[str]]:
    """Return the document of each task and split wanted, and the faults of what there is.

    A name without an option in front goes before one with it: `sst-dev-output.csv` is of the
    course's second half, `finetune-sst-dev-out.csv` of its first.
    """
    found: dict[tuple[str, str], Checked] = {}
    faults: list[str] = []
    for task, split in wanted:
        own = [one for one in checked if (one.task, one.split) == (task, split)]
        plain = [one for one in own if (name := named(one.document.name)) and not name.option]
        chosen = plain or own
        if not chosen:
            faults.append(f"{where}: {task}-{split}-output.csv is missing; add it")
        elif len(chosen) > 1:
            names = " and ".join(one.document.shown for one in chosen[:3])
            faults.append(f"{where}: {names} are both of {task} {split}; submit one of them")
        else:
            found[task, split] = chosen[0]
    return found, faults


@dataclass(frozen=True)
class ValidateOptions:
    """`python -m assignment validate`."""

    path: Path = option(help="a file, folder or zip of predictions", flag="path", metavar="PATH")
    data: str = option("bundled", DATA, metavar="DIR")
    tasks: tuple[str, ...] = option(
        CS224N, "tasks that must be there, dev and test", choices=tuple(ASKED)
    )
    most: int = option(20, "faults shown of each file", least=1)


def main(argv: Sequence[str] | None = None) -> int:
    """Validate what a command line names; return the exit code."""
    options = parse(
        ValidateOptions,
        argv,
        prog="python -m assignment validate",
        description="""\
Is a submission what the course asks for? Names of files, headers, rows that do not parse,
ids that are missing, double or unknown, values that are no label: every fault comes with
its file and line, and what to do. Both spellings of CS224N's minBERT project (2023-24)
are read, and para and sst as its GPT-2 project writes them.""",
        epilog=f"""\
examples:
  all that CS224N's leaderboard wants, before it is handed in:
    python -m assignment validate predictions --data downloads/cs224n
  one file; a zip; the two tasks of the course's first half:
    python -m assignment validate predictions/sst-dev-output.csv --data downloads/cs224n
    python -m assignment validate submission.zip --data downloads/cs224n
    python -m assignment validate first.zip --data downloads/cs224n --tasks sst cfimdb

An empty value is no answer, which the course allows. {CODES}""",
    )
    return exit_code(lambda: validate(options))


def validate(options: ValidateOptions) -> None:
    """Print what was found of each file, and each fault.

    Raises:
        DataError: there is a fault; all of them have been printed.
    """
    path = options.path
    if (path / "results.json").is_file():
        raise DataError(f"{path}: a run; pack it first: python -m assignment package")
    gold = Gold(options.data)
    documents = open_submission(path)
    single = not path.is_dir() and path.suffix.lower() != ".zip"
    checked = [check(one, gold) for one in documents if single or is_predictions(one)]
    missing: list[str] = []
    if not single:
        missing = one_per_task(checked, product(options.tasks, SPLITS), str(path))[1]
    for one in checked:
        shown = one.document.shown
        if one.task and one.split:
            print(f"{shown}: {len(one.answers):,} rows of {one.task} {one.split}")
        for line in [*(f"note: {note}" for note in one.notes), *one.faults[: options.most]]:
            print(line)
        if len(one.faults) > options.most:
            print(f"{shown}: ... and {len(one.faults) - options.most:,} more faults (--most N)")
    for line in missing:
        print(line)
    if faults := len(missing) + sum(len(one.faults) for one in checked):
        raise DataError(f"{path}: {faults:,} fault(s), told above; correct them")
    print(f"{path}: as the course asks for it")
