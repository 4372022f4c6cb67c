"""Every way in which courses spell predictions: names of files, headers, separators, numbers.

CS224N's code writes `sst-dev-output.csv` with a header between tabs above rows `id , value`, its
hand-out asks for `sst-dev-out.csv` with `id, value`; its first half puts an option in front of the
name. CMU's assignment wants `value ||| sentence` in `sst-dev-output.txt`, without ids or header.
Reads: opening, data.readers.predictions. Feeds: checking, package.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from assignment.submission.opening import Document
from data.examples import DataError
from data.readers.predictions import id_and_answer, predicted_task, prediction_fields
from data.readers.sst import read_sst
from data.readers.tables import decoded_lines
from data.tasks import TASKS, Task

# The two classes of film reviews that both courses' first halves ask for, too.
CFIMDB = replace(
    TASKS["sst"],
    name="cfimdb",
    about="sentiment in 2 classes",
    files=("ids-cfimdb-train.csv", "ids-cfimdb-dev.csv", "ids-cfimdb-test-student.csv"),
    kind="binary",
    largest=1,
    read=partial(read_sst, num_classes=2),
)
ASKED = {**TASKS, "cfimdb": CFIMDB}
SPLITS = ("dev", "test")
NAME = re.compile(
    rf"(?:(?P<option>.+)-)?(?P<task>{'|'.join(ASKED)})-(?P<split>dev|test)-(?:output|out)\.(?:csv|txt)"
)
BARS = " ||| "
MOST_ROWS = 500_000  # six times the largest file that a course asks for
EXAMPLE = "sst-dev-output.csv (the code) or sst-dev-out.csv (the hand-out)"


@dataclass(frozen=True)
class Dialect:
    """How a course spells a file of predictions.

    Attributes:
        about: whose it is.
        ending: of the file's name, after `TASK-SPLIT-`.
        header: the first line, "" for none.
        row: of a key (the id, or CMU's sentence) and a value.
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
        """Return the file of a task's answers, (key, value) each; None is no answer."""
        column = self.columns.get(task.name, task.prediction_header)
        rows = (
            self.row.format(key=key, value=self._spelled(task, value)) for key, value in answers
        )
        return self.header.format(column=column) + "".join(rows)

    def _spelled(self, task: Task, value: float | None) -> str:
        if value is None:
            return ""
        whole = task.kind != "score" and (task.whole_predictions or not self.floats)
        return str(int(value) if whole else float(value))


CORRECTED = {"sts": "Predicted_Similarity"}  # CS224N's code has a typing error
DIALECTS = {
    "code": Dialect(
        "CS224N's starter code", "output.csv", "id \t {column} \n", "{key} , {value} \n", {}, True
    ),
    "handout": Dialect(
        "CS224N's hand-out", "out.csv", "id, {column}\n", "{key}, {value}\n", CORRECTED
    ),
    "tab": Dialect("tab-separated", "out.csv", "id\t{column}\n", "{key}\t{value}\n", CORRECTED),
    "cmu": Dialect("CMU's minBERT", "output.txt", "", "{value}" + BARS + "{key}\n", {}),
}


@dataclass(frozen=True)
class Named:
    """What the name of a file says."""

    task: str
    split: str
    option: str = ""  # in front of it, as classifier.py writes `finetune-sst-dev-out.csv`


def named(name: str) -> Named | None:
    """Return what a file's name says, None if no course writes such a name."""
    found = NAME.fullmatch(name)
    return Named(found["task"], found["split"], found["option"] or "") if found else None


@dataclass(frozen=True)
class Row:
    """One row: its line, the id or sentence that it answers, and the answer as spelled."""

    line: int
    key: str
    answer: str


@dataclass(frozen=True)
class Rows:
    """What a document holds.

    Attributes:
        task: as its header says; None where it has none.
        rows: those that could be read, in order.
        by_sentence: whether keys are sentences, as CMU's, and not ids.
        whole: whether all lines were read.
    """

    task: Task | None
    rows: list[Row]
    by_sentence: bool
    whole: bool


def read_rows(document: Document, report: list[str]) -> Rows:
    """Return the rows of a document; add a line to `report` for each fault."""
    rows: list[Row] = []
    lines = _lines(document)
    by_sentence = BARS.strip() in document.content.partition(b"\n")[0].decode(errors="replace")
    task, whole = None, True
    try:
        if by_sentence:
            found = ((line, text.strip()) for line, text in lines if text.strip())
            rows += _kept(document, ((line, _by_sentence(text)) for line, text in found), report)
        else:
            fields = prediction_fields(lines)
            line, header = next(fields, (1, []))
            task, first = _header(document, line, header, report)
            rows += first
            rows += _kept(document, fields, report)
    except DataError as error:
        report.append(str(error))
        whole = False
    return Rows(task, rows, by_sentence, whole)


def sentence_key(text: str) -> str:
    """Return a sentence as rows are matched by it: case and white space do not count."""
    return " ".join(text.lower().split())


def _lines(document: Document) -> Iterator[tuple[int, str]]:
    shown = document.shown
    for line, text in decoded_lines(io.BytesIO(document.content), shown):
        if line > MOST_ROWS:
            raise DataError(f"{shown}:{line}: more than {MOST_ROWS:,} lines; submit fewer")
        yield line, text


def _header(
    document: Document, line: int, header: list[str], report: list[str]
) -> tuple[Task | None, list[Row]]:
    """Return the task of a header; of a row in its place, that row."""
    try:
        return predicted_task(document.shown, line, header), []
    except DataError as error:
        report.append(f"{error}; correct line {line}, or put the header above it")
    # An id has a digit and a header none: the first row of a file without a header counts.
    is_row = len(header) == 2 and any(map(str.isdigit, header[0]))
    return None, [Row(line, header[0].lower(), header[1])] if is_row else []


def _kept(
    document: Document, rows: Iterable[tuple[int, list[str]]], report: list[str]
) -> Iterator[Row]:
    """Yield the rows that have a key and an answer."""
    for line, fields in rows:
        try:
            key, answer = id_and_answer(f"{document.shown}:{line}", fields)
        except DataError as error:
            report.append(f"{error}; correct the row")
            continue
        yield Row(line, key, answer)


def _by_sentence(text: str) -> list[str]:
    """Return the sentence and the answer of CMU's row."""
    answer, bars, sentence = text.partition(BARS.strip())
    return [sentence_key(sentence), answer.strip()] if bars else [text]
