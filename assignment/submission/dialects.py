"""How courses spell files of predictions, and the one reader of all of them.

| course | file | header | row |
|---|---|---|---|
| CS224N's minBERT project (2023-24), its code | sst-dev-output.csv | id \\t NAME | id , value |
| its hand-out | sst-dev-out.csv | id, NAME | id, value |
| its first half | finetune-sst-dev-out.csv | id \\t NAME | id , value |
| CS224N's GPT-2 project after it | para-dev-output.csv | id \\t NAME | id, value or token |
| Göttingen's course (2024-26) | sst-sentiment-dev-output.csv | id,NAME | id\\tvalue |

Rows are separated by a comma or by tabs, whichever a line has, and headers in both spellings of
`Predicted_Similarity` (`data.predictions`).
"""

import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from assignment.submission.opening import Document
from data.examples import DataError
from data.predictions import id_and_answer, predicted_task, predicted_value, prediction_fields
from data.table import decoded_lines
from data.tasks import COURSE, Task, read_sst

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
MOST_ROWS = 500_000  # six times the largest file that a course asks for

# The task's word in the name of a file -> the task.
WORDS = {word: name for name, task in ASKED.items() for word in (name, *task.elsewhere)}
NAME = re.compile(
    rf"(?:(?P<option>.+)-)?(?P<word>{'|'.join(WORDS)})-(?P<split>dev|test)-(?:output|out)\.csv"
)
# A file is taken for one of predictions by its name, a nearly right one too, or by its header.
MEANT = re.compile(r"(?=.*(sst|para|quora|sts|cfimdb))(?=.*(dev|test))(?=.*(out|pred))", re.I)
# Paraphrase types, detected and generated, are a task of Göttingen's that this project lacks.
TYPES = re.compile(r"etpc-paraphrase-.*")
TYPES_COLUMN = b"paraphrase_types"
# The folder in which Göttingen's code writes the same files once more, of a joint model.
JOINT = "multitask"


class Named(NamedTuple):
    """What the name of a file says."""

    task: str
    split: str
    option: str = ""  # in front of it, as classifier.py writes `finetune-sst-dev-out.csv`


def named(name: str) -> Named | None:
    """Return what a file's name says, None if no course writes such a name."""
    match = NAME.fullmatch(name)
    return Named(WORDS[match["word"]], match["split"], match["option"] or "") if match else None


def is_predictions(document: Document) -> bool:
    """Return whether a file is meant as predictions, under a wrong name perhaps."""
    if is_types(document):
        return False
    return MEANT.match(document.name) is not None or b"predicted_" in _header(document)


def is_types(document: Document) -> bool:
    """Return whether a file is of Göttingen's task with paraphrase types, which nothing scores."""
    return bool(TYPES.fullmatch(document.name)) or TYPES_COLUMN in _header(document)


def _header(document: Document) -> bytes:
    return document.content.partition(b"\n")[0].lower()


def passed_over(documents: Iterable[Document]) -> str:
    """Return a note on the files of a submission that are of no task here, "" without any."""
    types = [document.shown for document in documents if is_types(document)]
    more = f" and {len(types) - 1} more" if len(types) > 1 else ""
    return f"{types[0]}{more}: paraphrase types are not scored here; passed over" if types else ""


Key = tuple[str, int]  # an id, and its how-manieth occurrence in the file


def numbered(ids: Iterable[str]) -> Iterator[Key]:
    """Yield ids with how often each has occurred up to there: one may occur twice in data."""
    occurrences: Counter[str] = Counter()
    for id in ids:
        occurrences[id] += 1
        yield id, occurrences[id]


class Answer(NamedTuple):
    """The value of one row: None where it gives no answer, NaN where it is none."""

    line: int
    value: float | None


def read_table(
    document: Document, faults: list[str]
) -> tuple[Task | None, dict[Key, Answer], bool]:
    """Read a document of any dialect; add a line to `faults` for each fault.

    Returns:
        The task, None where name and header say nothing, or not the same; the answers of the rows
        that could be read, in order; and whether all lines were read.
    """
    shown = document.shown
    if is_types(document):
        faults.append(f"{shown}: paraphrase types are not scored here; give sst, para or sts")
        return None, {}, False
    rows, whole = [], True
    try:
        for row in prediction_fields(_lines(document)):
            rows.append(row)
    except DataError as error:  # no text, or too much of it
        faults.append(str(error))
        whole = False
    header_task = _take_header(shown, rows, faults) if rows or whole else None
    place = named(document.name)
    task = ASKED[place.task] if place else header_task
    if task is None:
        faults.append(
            f"{shown}: the name and the header do not state the task; rename it sst-dev-output.csv "
            "(the code) or sst-dev-out.csv (the hand-out)"
        )
    elif header_task and header_task.prediction_header != task.prediction_header:
        header = header_task.prediction_header
        faults.append(f"{shown}:1: {header} is not of {task.name}; rename it, or the column")
        task = None
    if task is None:
        return None, {}, whole
    ids, answers = [], []
    for line, fields in rows:
        where = f"{shown}:{line}"
        try:
            id, text = id_and_answer(where, fields)
        except DataError as error:
            faults.append(f"{error}; correct the row")
            continue
        ids.append(id)
        answers.append(Answer(line, _value(where, text, task, faults)))
    return task, dict(zip(numbered(ids), answers, strict=True)), whole


def _lines(document: Document) -> Iterator[tuple[int, str]]:
    for line, text in decoded_lines(io.BytesIO(document.content), document.shown):
        if line > MOST_ROWS:
            raise DataError(f"{document.shown}:{line}: more than {MOST_ROWS:,} lines; submit fewer")
        yield line, text


def _take_header(shown: str, rows: list[tuple[int, list[str]]], faults: list[str]) -> Task | None:
    """Take the header from the rows, and return the task that it names."""
    line, header = rows[0] if rows else (1, [])
    task = None
    try:
        task = predicted_task(shown, line, header)
    except DataError as error:
        faults.append(f"{error}; correct line {line}, or put the header above it")
    # An id has a digit and a header none: of a file without a header, the first row counts.
    if task or not (len(header) == 2 and any(map(str.isdigit, header[0]))):
        del rows[:1]
    return task


def _value(where: str, text: str, task: Task, faults: list[str]) -> float | None:
    """Return the value that a row gives; add one that is no label to the faults."""
    if not text:  # the hand-out allows an empty one
        return None
    # No token is a class of ours, so nothing is taken for another answer.
    answer = GPT2_ANSWERS.get(text, text) if task.name == "para" else text
    try:
        return predicted_value(where, answer, task)
    except DataError as error:
        faults.append(f"{error}; correct it, or leave it empty for no answer")
        return math.nan
