"""Reads prediction files in CS224N's format, from this project or other programs.

The course's code writes `id <tab> Predicted_Similiary` above rows `id , value`. Later versions and
students' scripts use only commas or only tabs, and the correct spelling of the header.
"""

import logging
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.examples import DataError, Example
from data.table import PathLike, number, numbered_lines
from data.tasks import COURSE, Task

logger = logging.getLogger("data")

TABS = re.compile(r"\t+")
QUOTED = re.compile(r'^"([^"]*)"$')
ALSO_CALLED = {"predicted_similarity": "predicted_similiary"}  # the handout's spelling: the code's


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
        wanted = {example.id for example in examples}
        for id, (line, _) in self.values.items():
            if id not in wanted:
                raise DataError(
                    f"{self.path}:{line}: id {id!r} is not in {gold}; predict the rows of that file"
                )
        missing = [example.id for example in examples if example.id not in self.values]
        if missing:
            last = max(line for line, _ in self.values.values())
            raise DataError(
                f"{self.path}:{last}: ends without {len(missing):,} of the {len(examples):,} ids "
                f"of {gold} (the first: {missing[0]!r}); predict every row"
            )
        return [self.values[example.id][1] for example in examples]


def read_predictions(path: PathLike) -> Predictions:
    """Return the predictions of a file; the header determines the task.

    Ids are in lower case, as in the readers of the data.
    """
    rows = prediction_fields(numbered_lines(path))
    task = predicted_task(path, *next(rows, (1, [])))
    values: dict[str, tuple[int, float]] = {}
    for line, fields in rows:
        id, text = id_and_answer(f"{path}:{line}", fields)
        value = predicted_value(f"{path}:{line}", text, task)
        if id in values:
            raise DataError(f"{path}:{line}: id {id!r} is on line {values[id][0]} too; delete one")
        values[id] = line, value
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
    hint = ""
    if len(header) == 1 and ";" in header[0]:
        hint = "; write commas instead of semicolons, and decimal points"
    elif len(header) > 2 and header[0] in ("", "Unnamed: 0"):
        hint = "; leave out the first column, row numbers (pandas: to_csv(..., index=False))"
    raise DataError(
        f"{path}:{line}: not a header of predictions; expected id and one of {known}{hint}"
    )


def id_and_answer(where: str, fields: list[str]) -> tuple[str, str]:
    """Return a row's id, in lower case, and its answer as it is spelled."""
    if len(fields) != 2:
        raise DataError(f"{where}: {len(fields)} fields, expected an id and a prediction")
    if "\t" in fields[0]:
        raise DataError(f"{where}: has a tab and a comma; write numbers with a decimal point")
    return fields[0].lower(), fields[1]


def off_scale(values: Sequence[float], task: Task) -> str:
    """Return a note on similarities outside the scale of the labels, "" if there are none.

    They are allowed: the course's code predicts logits, and Pearson's r takes any scale.
    """
    outside = sum(not 0 <= value <= task.largest for value in values)
    if not outside:
        return ""
    count = f"{outside:,} of {len(values):,} similarities are not from 0 to {task.largest}"
    return f"{count}; Pearson's r takes any scale"


def predicted_value(where: str, text: str, task: Task) -> float:
    """Return an answer as a number."""
    value = number(text)
    if value is None or (task.label_kind != "score" and value not in range(task.num_classes)):
        expected = "a number" if task.label_kind == "score" else f"a class from 0 to {task.largest}"
        raise DataError(f"{where}: prediction is {text[:40]!r}, expected {expected}")
    return value
