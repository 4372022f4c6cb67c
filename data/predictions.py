"""Reads prediction files in CS224N's format, from this project or other programs.

The course's code writes `id <tab> Predicted_Similiary` above rows `id , value`. Later versions and
students' scripts use only commas or only tabs, and the correct spelling of the header.

`row_faults` and `id_faults` yield the faults of a file in order. `read_predictions` raises the
first one; `python -m assignment validate` prints them.
"""

import logging
import math
import re
import string
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.examples import DataError, Example
from data.table import PathLike, number, numbered_lines
from data.tasks import COURSE, Task

logger = logging.getLogger("data")

TABS = re.compile(r"\t+")
QUOTED = re.compile(r'^"([^"]*)"$')
ALSO_CALLED = {"predicted_similarity": "predicted_similiary"}  # the handout's spelling: the code's
GPT2_ANSWERS = {"8505": "1", "3919": "0"}  # the tokens of "yes" and "no", for pairs of questions

Values = dict[str, tuple[int, float]]  # id -> line and value


@dataclass(frozen=True)
class Predictions:
    """The predictions of one file: id -> (line, value), in the order of the file."""

    path: Path
    task: Task
    values: Mapping[str, tuple[int, float]]

    def aligned(self, examples: Sequence[Example], gold: PathLike) -> list[float]:
        """Return one prediction per example, in order; `gold` is the examples' file, for messages.

        The ids must be those of the examples, all of them and no others.
        """
        ids = [example.id for example in examples]
        for fault in id_faults(self.path, self.values, ids, gold):
            raise DataError(fault)
        return [self.values[id][1] for id in ids]


def read_predictions(path: PathLike) -> Predictions:
    """Return the predictions of a file; the header determines the task.

    Ids are in lower case, as in the readers of the data.
    """
    rows = prediction_fields(numbered_lines(path))
    task = predicted_task(path, *next(rows, (1, [])))
    values: Values = {}
    for fault in row_faults(path, rows, task, values):
        raise DataError(fault)
    if not values:
        raise DataError(f"{path}: has a header but no rows; expected at least one prediction")
    if note := off_scale([value for _, value in values.values()], task):
        logger.warning("%s: %s", path, note)
    return Predictions(Path(path), task, values)


def prediction_fields(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, stripped fields) of the numbered lines that are not blank.

    Lines with a comma are split at commas, others at tabs: the course's files have both. Quotation
    marks around a whole field have no meaning.
    """
    for line, text in lines:
        if text.strip():
            row = text.strip(string.whitespace)
            first, *others = row.split(",") if "," in row else TABS.split(row)
            # Only ASCII white space is stripped: other separators are not part of a number.
            fields = [first.strip(), *(other.strip(string.whitespace) for other in others)]
            fields = [QUOTED.sub(r"\1", field) for field in fields]
            # An empty answer leaves a tab at the end of its row.
            yield line, fields if len(fields) > 1 or "\t" not in text else [*fields, ""]


def predicted_task(path: PathLike, line: int, header: list[str]) -> Task:
    """Return the task that a header names."""
    name = header[-1].lower() if len(header) == 2 else ""
    for task in COURSE.values():
        if ALSO_CALLED.get(name, name) == task.prediction_header.lower():
            return task
    known = ", ".join(task.prediction_header for task in COURSE.values())
    raise DataError(
        f"{path}:{line}: not a header of predictions, expected two columns, id and one of {known}; "
        "separate them with a comma or a tab"
    )


def row_faults(
    path: PathLike,
    rows: Iterable[tuple[int, list[str]]],
    task: Task,
    values: Values,
    may_be_empty: bool = False,
) -> Iterator[str]:
    """Read the rows below a header into `values`, and yield the faults in their order.

    An empty value, if allowed, is NaN. So is a faulty value, whose row is not missing.
    """
    for line, fields in rows:
        where = f"{path}:{line}"
        # A decimal comma after a tab leaves the tab in the first field.
        if len(fields) != 2 or "\t" in fields[0]:
            found = f"{len(fields)} fields" if len(fields) != 2 else "a tab and a comma"
            yield f"{where}: {found}, expected an id and a prediction; correct the row"
            continue
        id, text = fields[0].lower(), fields[1]
        if id in values:
            yield f"{where}: id {id[:40]!r} is on line {values[id][0]} too; delete one"
            continue
        value = predicted_value(text, task)
        values[id] = line, math.nan if value is None else value
        if value is None and (text or not may_be_empty):
            expected = (
                "a number" if task.label_kind == "score" else f"a class from 0 to {task.largest}"
            )
            yield f"{where}: prediction is {text[:40]!r}, expected {expected}; correct it"


def predicted_value(text: str, task: Task) -> float | None:
    """Return an answer as a number, None if it is not one of the task."""
    # No token is a class, so nothing is mistaken for another answer.
    value = number(GPT2_ANSWERS.get(text, text) if task.name == "para" else text)
    is_right = task.label_kind == "score" or value in range(task.num_classes)
    return value if is_right else None


def id_faults(
    path: PathLike,
    values: Mapping[str, tuple[int, float]],
    ids: Collection[str],
    gold: PathLike,
    optional: Collection[str] = (),
) -> Iterator[str]:
    """Yield a fault for each id that is not in `gold`, and one for all ids that are missing."""
    wanted = {*ids, *optional}
    last = 1
    for id, (line, _) in values.items():
        last = line
        if id not in wanted:
            yield f"{path}:{line}: id {id[:40]!r} is not in {gold}; predict the rows of that file"
    missing = [id for id in ids if id not in values]
    if missing:
        yield (
            f"{path}:{last}: ends without {len(missing):,} of the {len(ids):,} ids of {gold} "
            f"(the first: {missing[0]!r}); predict every row"
        )


def off_scale(values: Sequence[float], task: Task) -> str:
    """Return a note on similarities outside the scale of the labels, "" if there are none.

    They are allowed: the course's code predicts logits, and Pearson's r takes any scale.
    """
    outside = sum(not 0 <= value <= task.largest for value in values)
    if not outside:
        return ""
    count = f"{outside:,} of {len(values):,} similarities are not from 0 to {task.largest}"
    return f"{count}; Pearson's r takes any scale"
