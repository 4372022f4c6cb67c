"""Every way in which courses spell predictions: names of files, headers, separators, numbers.

The code of CS224N's minBERT project (2023-24) writes `sst-dev-output.csv` with a header between
tabs above rows `id , value`, its hand-out asks for `sst-dev-out.csv` with `id, value`; its first
half puts an option in front of the name. The GPT-2 project after it writes `para-dev-output.csv`
in the same way, where "yes" and "no" may be tokens of the model that was asked for the next word.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from assignment.submission.opening import Document
from data.examples import DataError
from data.predictions import id_and_answer, predicted_task, prediction_fields
from data.tables import decoded_lines
from data.tasks import TASKS, Task, read_sst

# The two classes of film reviews that the course's first half asks for, too.
CFIMDB = replace(
    TASKS["sst"],
    name="cfimdb",
    about="sentiment in 2 classes",
    files=("ids-cfimdb-train.csv", "ids-cfimdb-dev.csv", "ids-cfimdb-test-student.csv"),
    label_kind="binary",
    largest=1,
    read=partial(read_sst, num_classes=2),
)
ASKED = {**TASKS, "cfimdb": CFIMDB}
CS224N = ("sst", "para", "sts")
SPLITS = ("dev", "test")
NAME = re.compile(
    rf"(?:(?P<option>.+)-)?(?P<task>{'|'.join(ASKED)})-(?P<split>dev|test)-(?:output|out)\.csv"
)
# A file is taken for one of predictions by its name, a nearly right one too, or by its header.
MEANT = re.compile(r"(?=.*(sst|para|quora|sts|cfimdb))(?=.*(dev|test))(?=.*(out|pred))", re.I)
COLUMN = "predicted_"
GPT2_ANSWERS = {"8505": "1", "3919": "0"}  # the tokens "yes" and "no", for pairs of questions
MOST_ROWS = 500_000  # six times the largest file that a course asks for


@dataclass(frozen=True)
class Dialect:
    """How a course spells a file of predictions.

    Attributes:
        about: whose it is.
        ending: of the file's name, after `TASK-SPLIT-`.
        header: the first line.
        row: of an id and a value.
        columns: task -> the column's name, where it is not that of CS224N's code.
        floats: whether 0 and 1 of a paraphrase are written as floats.
    """

    about: str
    ending: str
    header: str
    row: str
    columns: dict[str, str]
    floats: bool = False

    def file_name(self, task: str, split: str) -> str:
        """Return the name of a task's file."""
        return f"{task}-{split}-{self.ending}"

    def text(self, task: Task, answers: Iterable[tuple[str, float | None]]) -> str:
        """Return the file of a task's answers, (id, value) each; None is no answer."""
        whole = task.label_kind != "score" and (task.whole_predictions or not self.floats)
        lines = [self.header.format(column=self.columns.get(task.name, task.prediction_header))]
        for id, value in answers:
            spelled = "" if value is None else str(int(value) if whole else float(value))
            lines.append(self.row.format(id=id, value=spelled))
        return "".join(lines)


CORRECTED = {"sts": "Predicted_Similarity"}  # CS224N's code has a typing error
DIALECTS = {
    "code": Dialect(
        "CS224N's starter code", "output.csv", "id \t {column} \n", "{id} , {value} \n", {}, True
    ),
    "handout": Dialect(
        "CS224N's hand-out", "out.csv", "id, {column}\n", "{id}, {value}\n", CORRECTED
    ),
    "tab": Dialect("tab-separated", "out.csv", "id\t{column}\n", "{id}\t{value}\n", CORRECTED),
}


class Named(NamedTuple):
    """What the name of a file says."""

    task: str
    split: str
    option: str = ""  # in front of it, as classifier.py writes `finetune-sst-dev-out.csv`


def named(name: str) -> Named | None:
    """Return what a file's name says, None if no course writes such a name."""
    match = NAME.fullmatch(name)
    return Named(match["task"], match["split"], match["option"] or "") if match else None


def is_predictions(document: Document) -> bool:
    """Return whether a file is meant as predictions, under a wrong name perhaps."""
    return MEANT.match(document.name) is not None or COLUMN in _first_line(document).lower()


def _first_line(document: Document) -> str:
    return document.content.partition(b"\n")[0].decode(errors="replace")


class Row(NamedTuple):
    """One row: its line, the id that it answers, and the answer as spelled."""

    line: int
    id: str
    answer: str


@dataclass(frozen=True)
class Rows:
    """What a document holds.

    Attributes:
        task: as its header says; None where it has none.
        rows: those that could be read, in order.
        whole: whether all lines were read.
    """

    task: Task | None
    rows: list[Row]
    whole: bool


def read_rows(document: Document, faults: list[str]) -> Rows:
    """Return the rows of a document; add a line to `faults` for each that is wrong."""
    shown = document.shown
    task, rows, whole = None, [], True
    try:
        table = prediction_fields(_lines(document))
        line, header = next(table, (1, []))
        try:
            task = predicted_task(shown, line, header)
        except DataError as error:
            faults.append(f"{error}; correct line {line}, or put the header above it")
            # An id has a digit and a header none: of a file without a header, the first row counts.
            if len(header) == 2 and any(map(str.isdigit, header[0])):
                rows.append(Row(line, header[0].lower(), header[1]))
        for line, fields in table:
            try:
                rows.append(Row(line, *id_and_answer(f"{shown}:{line}", fields)))
            except DataError as error:
                faults.append(f"{error}; correct the row")
    except DataError as error:  # no text, or too much of it
        faults.append(str(error))
        whole = False
    return Rows(task, rows, whole)


def _lines(document: Document) -> Iterator[tuple[int, str]]:
    shown = document.shown
    for line, text in decoded_lines(io.BytesIO(document.content), shown):
        if line > MOST_ROWS:
            raise DataError(f"{shown}:{line}: more than {MOST_ROWS:,} lines; submit fewer")
        yield line, text
