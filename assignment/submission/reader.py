"""Reads a submission's prediction files; `python -m assignment validate` prints their faults.

| course | file | header | row |
|---|---|---|---|
| CS224N's minBERT project (2023-24), its code | sst-dev-output.csv | id \\t NAME | id , value |
| its hand-out | sst-dev-out.csv | id, NAME | id, value |
| its first half | finetune-sst-dev-out.csv | id \\t NAME | id , value |
| CS224N's GPT-2 project after it | para-dev-output.csv | id \\t NAME | id, value or token |
| Göttingen's course (2024-26) | sst-sentiment-dev-output.csv | id,NAME | id\\tvalue |

A file is one of predictions if it has such a name. `data.predictions` reads its header and rows.
Of several files of a task and split, the one with the shortest path counts. It is of the course's
second half, and not of a joint model (Göttingen's folder `multitask`).
"""

import io
import logging
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assignment.submission.opening import Document, open_submission
from data.examples import DataError
from data.locate import data_folder
from data.predictions import Values, id_faults, predicted_task, prediction_fields, row_faults
from data.table import decoded_lines
from data.tasks import COURSE, files_in_doubt, read_sst, split_file
from evaluation.metrics import is_labelled, labels_of
from runtime.options import option, parse

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

# The task's word in the name of a file -> the task.
WORDS = {word: name for name, task in ASKED.items() for word in (name, *task.elsewhere)}
NAME = re.compile(rf"(?:.+-)?(?P<word>{'|'.join(WORDS)})-(?P<split>dev|test)-(?:output|out)\.csv")

MOST_ROWS = 500_000  # six times the largest file that a course asks for
MOST_FAULTS = 20  # of a file, which is read no further

# What the commands say of them in their --help.
PATH = "a file, folder or zip of predictions"
DATA = "folder with the tasks' files; bundled and cs224n name the included data and the course's"
CODES = "Exit codes: 0 success, 2 invalid input, 1 a bug in this project."


class Place(NamedTuple):
    """Which rows a file predicts."""

    task: str
    split: str


def named(name: str) -> Place | None:
    """Return what a file's name says, None if no course writes such a name."""
    match = NAME.fullmatch(name)
    return Place(WORDS[match["word"]], match["split"]) if match else None


@dataclass(frozen=True)
class Expected:
    """The rows of one split, N of which count; none where its file is not there."""

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

    def _read(self, task: str, split: str) -> Expected:
        record = ASKED[task]
        path = split_file(self.folder, record, split)
        if not path.is_file():
            return Expected(path, [], None, set())
        examples = record.read(path, labelled=None)
        ids = [example.id for example in examples]
        if len(set(ids)) < len(ids):
            raise DataError(f"{path}: two rows have the same id; give each row a unique id")
        # Rows that the course's reader drops for their labels are still asked for.
        more = {example.id for example in record.read(path, labelled=False)}
        labels = labels_of(examples) if is_labelled(examples) else None
        return Expected(path, ids, labels, more)


@dataclass(frozen=True)
class PredictionFile:
    """A file of predictions as read."""

    shown: str  # its path for messages
    place: Place
    values: Values  # NaN: no answer, or a faulty one
    faults: list[str]

    @property
    def empty(self) -> int:
        return sum(math.isnan(value) for _, value in self.values.values())


def read_submission(
    path: Path, gold: Gold, wanted: Iterable[tuple[str, str]] = ()
) -> tuple[dict[Place, PredictionFile], list[str]]:
    """Return the files that count in a file, folder or zip, and a fault for each one missing.

    Raises:
        DataError: it cannot be opened, or has no file of predictions.
    """
    files: dict[Place, PredictionFile] = {}
    for document in sorted(open_submission(path, named), key=lambda document: len(document.shown)):
        place = named(document.name)
        if place in files:
            logger.warning("%s: not read; %s counts", document.shown, files[place].shown)
        elif place:
            values: Values = {}
            faults = [*islice(_faults(document, place, gold, values), MOST_FAULTS)]
            files[place] = PredictionFile(document.shown, place, values, faults)
    if not files:
        raise DataError(f"{path}: no predictions, expected such as sst-dev-output.csv; rename them")
    missing = [
        f"{path}: no file of {task} {split}, expected such as {task}-{split}-output.csv; add it"
        for task, split in wanted
        if (task, split) not in files
    ]
    return files, missing


def _faults(document: Document, place: Place, gold: Gold, values: Values) -> Iterator[str]:
    """Read a document into `values`, and yield its faults in their order.

    Ids are compared only if the file is text below the right header.
    """
    shown, task, expected = document.shown, ASKED[place.task], gold.expected(*place)
    try:
        rows = prediction_fields(_lines(document))
        line, header = next(rows, (1, []))
        stated = predicted_task(shown, line, header)
        found, right = stated.prediction_header, task.prediction_header
        if found != right:
            raise DataError(f"{shown}:{line}: has {found}, expected {right}; rename it or the file")
        yield from row_faults(shown, rows, task, values, may_be_empty=True)
        if not expected.ids:
            raise DataError(f"{shown}: no rows of it in {gold.folder}; give the folder with them")
        yield from id_faults(shown, values, expected.ids, expected.path.name, expected.more)
    except DataError as error:
        yield str(error)


def _lines(document: Document) -> Iterator[tuple[int, str]]:
    for line, text in decoded_lines(io.BytesIO(document.content), document.shown):
        if line > MOST_ROWS:
            raise DataError(f"{document.shown}:{line}: more than {MOST_ROWS:,} lines; submit fewer")
        yield line, text


@dataclass(frozen=True)
class ValidateOptions:
    """`python -m assignment validate`."""

    path: Path = option(help=PATH, flag="path", metavar="PATH")
    data: str = option("bundled", DATA, metavar="DIR")
    tasks: tuple[str, ...] = option(
        CS224N, "required tasks, with dev and test predictions", choices=tuple(ASKED)
    )


def main(argv: Sequence[str]) -> None:
    """Print the files of a submission, and each fault.

    Raises:
        DataError: there is a fault; all of them have been printed.
    """
    options = parse(
        ValidateOptions,
        argv,
        prog="python -m assignment validate",
        description=f"""\
Check the format of a submission's predictions: file names, headers, rows, ids and values.
Every error has its file, its line and a remedy; at most {MOST_FAULTS} of a file are printed. Reads
files of CS224N's minBERT project (2023-24), of its GPT-2 project (para and sst), and of
the course in Göttingen.""",
        epilog=f"""\
example, the two tasks of CS224N's first half:
  python -m assignment validate first.zip --data downloads/cs224n --tasks sst cfimdb

An empty value is no answer, which the course allows. {CODES}""",
    )
    path = options.path
    # A single file is no whole submission.
    tasks = () if path.is_file() and path.suffix.lower() != ".zip" else options.tasks
    files, faults = read_submission(path, Gold(options.data), product(tasks, SPLITS))
    for file in files.values():
        rows, place = len(file.values), " ".join(file.place)
        print(f"{file.shown}: {rows:,} rows of {place}, {rows - file.empty:,} with a prediction")
        faults += file.faults
    for fault in faults:
        print(fault)
    if faults:
        raise DataError(f"{path}: {len(faults):,} fault(s), listed above; correct them")
    print(f"{path}: valid for the course")
