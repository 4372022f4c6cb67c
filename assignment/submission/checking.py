"""Is a document of predictions what was asked for? Every fault, with its line and what to do.

Reads: dialects, gold. Feeds: validate, package, score, leaderboard.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from assignment.submission.dialects import ASKED, EXAMPLE, Named, Rows, named, read_rows
from assignment.submission.gold import Expected, Gold, Key, numbered
from assignment.submission.opening import Document, printable
from data.examples import DataError
from data.readers.predictions import predicted_value
from data.tasks import Task

NAMED = 3  # ids named of those missing
TOLD = 300  # characters of a fault


@dataclass(frozen=True)
class Answer:
    """The value of one row: None where it gives no answer, NaN where it is none."""

    line: int
    value: float | None


@dataclass(frozen=True)
class Checked:
    """A document as read: `faults` make it wrong, `notes` do not.

    `task` and `split` are None where neither name nor header and ids tell.
    """

    document: Document
    task: str | None
    split: str | None
    answers: dict[Key, Answer]
    by_sentence: bool
    faults: list[str]
    notes: list[str]

    @property
    def unanswered(self) -> int:
        """Return how many rows give no answer."""
        return sum(answer.value is None for answer in self.answers.values())

    def predictions(self, expected: Expected) -> list[float | None]:
        """Return one answer per example, in the examples' order; there must be no faults."""
        keys = expected.by_sentence if self.by_sentence else expected.by_id
        return [self.answers[key].value for key in keys]


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
        answers = _answers(document, record, rows, faults)
        notes += _notes(document, record, answers)
        found = place or _place(record, rows, gold)
        if found is None:
            faults.append(f"{shown}: its first row is in no file of {gold.folder}; rename it")
        elif place is None and not any_name:
            right = f"{found.task}-{found.split}-output.csv"
            faults.append(f"{shown}: not a name that the course knows; rename it {right}")
        if place := found:
            notes += _compare(document, gold, place, answers, rows, faults)
    task, split = (place.task, place.split) if place else (None, None)
    faults.sort(key=lambda fault: _line(shown, fault))
    told = [printable(fault, TOLD) for fault in faults]  # they quote what a stranger wrote
    return Checked(document, task, split, answers, rows.by_sentence, told, notes)


def _line(shown: str, fault: str) -> float:
    """Return the line that a fault names; faults of the whole file come last."""
    line = fault.removeprefix(f"{shown}:").partition(":")[0]
    return int(line) if line.isdecimal() else math.inf


def _answers(document: Document, record: Task, rows: Rows, faults: list[str]) -> dict[Key, Answer]:
    answers = {}
    for key, row in zip(numbered(row.key for row in rows.rows), rows.rows, strict=True):
        value = None
        if row.answer:  # the hand-out allows an empty one
            value = math.nan
            try:
                value = predicted_value(f"{document.shown}:{row.line}", row.answer, record)
            except DataError as error:
                faults.append(f"{error}; correct it, or leave it empty for no answer")
        answers[key] = Answer(row.line, value)
    return answers


def _place(record: Task, rows: Rows, gold: Gold) -> Named | None:
    """Return the task and split of whose rows the first one is."""
    first = rows.rows[0].key if rows.rows else ""
    for split in gold.splits(record.name):
        expected = gold.expected(record.name, split)
        keys = expected and (expected.by_sentence if rows.by_sentence else expected.by_id)
        if keys and (first, 1) in set(keys):
            return Named(record.name, split)
    return None


def _compare(
    document: Document,
    gold: Gold,
    place: Named,
    answers: dict[Key, Answer],
    rows: Rows,
    faults: list[str],
) -> list[str]:
    """Add what is unknown, double or missing to the faults; return a note where none can tell."""
    expected = gold.expected(place.task, place.split)
    if expected is None:
        return [f"{document.shown}: ids not checked, {gold.folder} lacks its data"]
    keys = expected.by_sentence if rows.by_sentence else expected.by_id
    wanted, what = set(keys), "sentence" if rows.by_sentence else "id"
    if answers and not wanted & answers.keys():
        found = _place(ASKED[place.task], rows, gold)
        those = f", they are of {found.task} {found.split}" if found else ""
        faults.append(f"{document.shown}: no row is of {expected.path.name}{those}; mixed up?")
        return []
    for (key, occurrence), answer in answers.items():
        where = f"{document.shown}:{answer.line}: {what} {key[:60]!r}"
        if (key, occurrence) in wanted:
            continue
        if (key, 1) in wanted:
            faults.append(f"{where} is on line {answers[key, 1].line} too; delete one")
        elif key not in expected.more:
            faults.append(f"{where} is not in {expected.path.name}; predict the rows of that file")
    missing = [key for key, occurrence in keys if (key, occurrence) not in answers]
    if missing and rows.whole:
        names = ", ".join(repr(key[:60]) for key in islice(missing, NAMED))
        more = ", ..." if len(missing) > NAMED else ""
        faults.append(
            f"{document.shown}: {len(missing):,} of the {len(keys):,} rows of "
            f"{expected.path.name} are missing ({names}{more}); predict every row"
        )
    return []


def _notes(document: Document, record: Task, answers: dict[Key, Answer]) -> list[str]:
    """Return what is allowed, and yet seldom meant."""
    found = []
    given = [answer.value for answer in answers.values() if answer.value is not None]
    empty, values = len(answers) - len(given), [value for value in given if value == value]
    if empty:
        found.append(f"{empty:,} of {len(answers):,} rows give no answer; none of them scores")
    outside = sum(not 0 <= value <= record.largest for value in values)
    if outside:
        found.append(
            f"{outside:,} of {len(values):,} similarities are not from 0 to {record.largest}; "
            "Pearson's r takes any scale"
        )
    if len(values) > 1 and np.ptp(values) == 0:
        found.append(f"all answers are {values[0]:g}")
    return [f"{document.shown}: {note}" for note in found]


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
