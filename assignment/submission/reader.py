"""The one reader of prediction files, as courses spell them, and of the rows that they must have.

| course | file | header | row |
|---|---|---|---|
| CS224N's minBERT project (2023-24), its code | sst-dev-output.csv | id \\t NAME | id , value |
| its hand-out | sst-dev-out.csv | id, NAME | id, value |
| its first half | finetune-sst-dev-out.csv | id \\t NAME | id , value |
| CS224N's GPT-2 project after it | para-dev-output.csv | id \\t NAME | id, value or token |
| Göttingen's course (2024-26) | sst-sentiment-dev-output.csv | id,NAME | id\\tvalue |

`data.predictions` knows headers and rows; here all faults of a file are collected.
"""

import io
import logging
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from assignment.submission.opening import Document, short
from data import predictions as spelling
from data.examples import DataError
from data.locate import data_folder
from data.table import decoded_lines
from data.tasks import COURSE, Task, files_in_doubt, read_sst, split_file
from evaluation.metrics import is_labelled, labels_of

logger = logging.getLogger("assignment")

# The two classes of film reviews that the course's first half asks for, too.
CFIMDB = replace(
    COURSE["sst"],
    name="cfimdb",
    about="sentiment in 2 classes",
    files=("ids-cfimdb-train.csv", "ids-cfimdb-dev.csv", "ids-cfimdb-test-student.csv"),
    label_kind="binary",
    largest=1,
    read=partial(read_sst, num_classes=2),
    elsewhere=(),
)
ASKED = {**COURSE, "cfimdb": CFIMDB}
CS224N = ("sst", "para", "sts")
SPLITS = ("dev", "test")
GPT2_ANSWERS = {"8505": "1", "3919": "0"}  # the tokens of "yes" and "no", for pairs of questions

# The task's word in the name of a file -> the task.
WORDS = {word: name for name, task in ASKED.items() for word in (name, *task.elsewhere)}
NAME = re.compile(
    rf"(?:(?P<option>.+)-)?(?P<word>{'|'.join(WORDS)})-(?P<split>dev|test)-(?:output|out)\.csv"
)
# A file is taken for one of predictions by its name, a nearly right one too, or by its header.
MEANT = re.compile(r"(?=.*(sst|para|quora|sts|cfimdb))(?=.*(dev|test))(?=.*(out|pred))", re.I)
# Paraphrase types are a task of Göttingen's that this project lacks.
TYPES, TYPES_COLUMN = "etpc-paraphrase-", b"paraphrase_types"
# The folder in which Göttingen's code writes the same files once more, of a joint model.
JOINT = "multitask"

MOST_ROWS = 500_000  # six times the largest file that a course asks for
NAMED = 3  # ids named of those missing
LONGEST = 300  # characters of a fault

# What the commands say of them in their --help.
DATA = "folder with the tasks' files; bundled and cs224n name the included data and the course's"
CODES = "Exit codes: 0 success, 2 invalid input, 1 a bug in this project."


class Place(NamedTuple):
    """Which rows a file predicts."""

    task: str
    split: str
    option: str = ""  # in front of its name, as classifier.py writes `finetune-sst-dev-out.csv`


def named(name: str) -> Place | None:
    """Return what a file's name says, None if no course writes such a name."""
    match = NAME.fullmatch(name)
    return Place(WORDS[match["word"]], match["split"], match["option"] or "") if match else None


def is_predictions(document: Document) -> bool:
    """Return whether a file is meant as predictions, under a wrong name perhaps."""
    meant = MEANT.match(document.name) is not None or b"predicted_" in _header(document)
    return meant and not _is_types(document)


def _is_types(document: Document) -> bool:
    """Return whether a file is of the task with paraphrase types, which nothing scores."""
    return document.name.startswith(TYPES) or TYPES_COLUMN in _header(document)


def _header(document: Document) -> bytes:
    return document.content.partition(b"\n")[0].lower()


def passed_over(documents: Iterable[Document]) -> str:
    """Return a note on the files of a submission that are of no task here, "" without any."""
    types = [document.shown for document in documents if _is_types(document)]
    more = f" and {len(types) - 1} more" if len(types) > 1 else ""
    return f"{types[0]}{more}: paraphrase types are not scored here; passed over" if types else ""


@dataclass(frozen=True)
class Expected:
    """The rows of one split, N of which count."""

    path: Path  # their file
    ids: list[str]  # of the N rows, in order
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

    def place(self, task: str, ids: Iterable[str]) -> Place | None:
        """Return the task and split of whose rows the first id is."""
        first = next(iter(ids), "")
        for split in SPLITS:
            expected = self.expected(task, split)
            if expected and first in expected.ids:
                return Place(task, split)
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
        ids = [example.id for example in examples]
        if len(set(ids)) < len(ids):
            raise DataError(f"{path}: two rows have the same id; give each row a unique id")
        # Rows that the course's reader drops for their labels are still asked for.
        more = {example.id for example in record.read(path, labelled=False)}
        labels = labels_of(examples) if is_labelled(examples) else None
        return Expected(path, ids, labels, more)


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
    answers: dict[str, Answer]  # by id
    faults: list[str]
    notes: list[str]

    @property
    def unanswered(self) -> int:
        return sum(answer.value is None for answer in self.answers.values())


def check(document: Document, gold: Gold, any_name: bool = False) -> Checked:
    """Return a document with all of its faults and notes.

    With `any_name` a name that no course writes is fine: header and ids tell what it is.
    """
    shown, place = document.shown, named(document.name)
    faults: list[str] = []
    notes: list[str] = []
    answers: dict[str, Answer] = {}
    task, rows = _task_and_rows(document, place, faults)
    if task:
        answers = _answers(shown, rows, task, faults)
        notes += [f"{shown}: {note}" for note in _notes(task, answers)]
        actual = gold.place(task.name, answers)
        if place is None and actual is None:
            faults.append(f"{shown}: its first row is in no file of {gold.folder}; rename it")
        elif place is None and actual and not any_name:
            right = gold.right_name(actual.task, actual.split)
            faults.append(f"{shown}: not a name that the course knows; rename it {right}")
        place = place or actual
        if expected := place and gold.expected(*place[:2]):
            faults += _wrong_ids(shown, expected, answers, actual)
        elif place:
            notes.append(f"{shown}: ids not checked, {gold.folder} lacks its data")
    name, split = place[:2] if place else ("", "")
    faults = [short(fault, LONGEST) for fault in faults]  # they quote what a stranger wrote
    return Checked(document, name, split, answers, faults, notes)


Rows = list[tuple[int, list[str]]]  # line and fields


def _task_and_rows(
    document: Document, place: Place | None, faults: list[str]
) -> tuple[Task | None, Rows]:
    """Return the rows below the header, and the task that the name and the header state.

    The task is None where they state none, or not the same, and where the file is no text.
    """
    shown = document.shown
    if _is_types(document):
        faults.append(f"{shown}: paraphrase types are not scored here; give sst, para or sts")
        return None, []
    try:
        rows = list(spelling.prediction_fields(_lines(document)))
    except DataError as error:  # no text, or too much of it
        faults.append(str(error))
        return None, []
    line, header = rows[0] if rows else (1, [])
    stated = None
    try:
        stated = spelling.predicted_task(shown, line, header)
    except DataError as error:
        faults.append(f"{error}; correct line {line}, or put the header above it")
    # An id has a digit and a header none: of a file without a header, the first row counts.
    if stated or not (len(header) == 2 and any(map(str.isdigit, header[0]))):
        rows = rows[1:]
    task = ASKED[place.task] if place else stated
    if task is None:
        faults.append(
            f"{shown}: the name and the header do not state the task; rename it sst-dev-output.csv "
            "(the code) or sst-dev-out.csv (the hand-out)"
        )
    elif stated and stated.prediction_header != task.prediction_header:
        other = f"{shown}:1: {stated.prediction_header} is not of {task.name}"
        faults.append(f"{other}; rename it, or the column")
        task = None
    return task, rows


def _lines(document: Document) -> Iterator[tuple[int, str]]:
    for line, text in decoded_lines(io.BytesIO(document.content), document.shown):
        if line > MOST_ROWS:
            raise DataError(f"{document.shown}:{line}: more than {MOST_ROWS:,} lines; submit fewer")
        yield line, text


def _answers(shown: str, rows: Rows, task: Task, faults: list[str]) -> dict[str, Answer]:
    """Return the answers of the rows that can be read, in order; of two of one id, the first."""
    answers: dict[str, Answer] = {}
    for line, fields in rows:
        where = f"{shown}:{line}"
        try:
            id, text = spelling.id_and_answer(where, fields)
        except DataError as error:
            faults.append(f"{error}; correct the row")
            continue
        if id in answers:
            twice = f"{where}: id {id[:60]!r} is on line {answers[id].line} too"
            faults.append(f"{twice}; delete one")
            continue
        # No token is a class of ours, so nothing is taken for another answer.
        text = GPT2_ANSWERS.get(text, text) if task.name == "para" else text
        value: float | None = math.nan
        try:
            # The hand-out allows an empty one.
            value = spelling.predicted_value(where, text, task) if text else None
        except DataError as error:
            faults.append(f"{error}; correct it, or leave it empty for no answer")
        answers[id] = Answer(line, value)
    return answers


def _notes(task: Task, answers: dict[str, Answer]) -> Iterator[str]:
    """Yield what is allowed, and yet seldom meant."""
    given = [answer.value for answer in answers.values() if answer.value is not None]
    empty, values = len(answers) - len(given), [value for value in given if value == value]
    if empty:
        yield f"{empty:,} of {len(answers):,} rows give no answer; none of them scores"
    if outside := spelling.off_scale(values, task):
        yield outside
    if len(values) > 1 and min(values) == max(values):
        yield f"all answers are {values[0]:g}"


def _wrong_ids(
    shown: str, expected: Expected, answers: dict[str, Answer], actual: Place | None
) -> Iterator[str]:
    """Yield a fault for each row that is not expected, and one that counts the missing rows."""
    if answers and answers.keys().isdisjoint(expected.ids):
        those = "; give the data that they are of (--data, --gold)"
        if actual:
            those = f", they are of {actual.task} {actual.split}; mixed up?"
        yield f"{shown}: no row is of {expected.path}{those}"
        return
    wanted, rows = expected.more.union(expected.ids), expected.path.name
    for id, answer in answers.items():
        if id not in wanted:
            where = f"{shown}:{answer.line}: id {id[:60]!r}"
            yield f"{where} is not in {rows}; predict the rows of that file"
    if missing := [id for id in expected.ids if id not in answers]:
        ids = ", ".join(repr(id[:60]) for id in missing[:NAMED])
        ids += ", ..." if len(missing) > NAMED else ""
        count = f"{len(missing):,} of the {len(expected.ids):,} rows of {rows} are missing"
        yield f"{shown}: {count} ({ids}); predict every row"


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
