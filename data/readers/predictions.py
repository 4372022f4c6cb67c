"""Reads prediction files in CS224N's format, this project's or anybody's.

The course's code writes `id <tab> Predicted_Similiary` above rows `id , value`; later versions and
students' own scripts use commas or tabs throughout, and spell the header right.
Reads: data.readers.tables. Feeds: report.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.examples import DataError, Example
from data.readers.fields import number
from data.readers.tables import PathLike, numbered_lines
from data.tasks import TASKS, Task

SEPARATOR = re.compile(r"\s*[,\t]\s*")
ALSO_CALLED = {"predicted_similarity": "predicted_similiary"}  # the handout's spelling: the code's


@dataclass(frozen=True)
class Predictions:
    """The predictions of one file: id -> (line, value), in the order of the file."""

    path: Path
    task: Task
    values: Mapping[str, tuple[int, float]]

    def aligned(self, examples: Sequence[Example], gold: PathLike) -> list[float]:
        """Return one prediction per example, in the examples' order.

        Args:
            examples: whose ids are expected, all of them and no others.
            gold: the file they are from, for messages.

        Raises:
            DataError: an id that is not an example's, or an example without a prediction.
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
    """Return the predictions of a file; the header says of which task.

    Ids are in lower case, as the readers of the data give them.

    Raises:
        DataError: unreadable or without rows; a header of no task; a row that is not an id and a
            number within the task's labels; an id that occurs twice.
    """
    rows = _fields(path)
    task = _task_of(path, *next(rows, (1, [])))
    values: dict[str, tuple[int, float]] = {}
    for line, fields in rows:
        if len(fields) != 2:
            raise DataError(f"{path}:{line}: {len(fields)} fields, expected an id and a prediction")
        id, value = fields[0].lower(), _value(f"{path}:{line}", fields[1], task)
        if id in values:
            raise DataError(f"{path}:{line}: id {id!r} is on line {values[id][0]} too; delete one")
        values[id] = line, value
    if not values:
        raise DataError(f"{path}: has a header but no rows; expected at least one prediction")
    return Predictions(Path(path), task, values)


def _fields(path: PathLike) -> Iterator[tuple[int, list[str]]]:
    for line, text in numbered_lines(path):
        if text.strip():
            yield line, SEPARATOR.split(text.strip())


def _task_of(path: PathLike, line: int, header: list[str]) -> Task:
    name = header[-1].lower() if len(header) == 2 else ""
    for task in TASKS.values():
        if ALSO_CALLED.get(name, name) == task.prediction_header.lower():
            return task
    known = ", ".join(task.prediction_header for task in TASKS.values())
    raise DataError(f"{path}:{line}: not a header of predictions; expected id and one of {known}")


def _value(where: str, text: str, task: Task) -> float:
    value = number(text)
    if value is None or (task.kind != "score" and value not in range(task.num_classes)):
        expected = "a number" if task.kind == "score" else f"a class from 0 to {task.largest}"
        raise DataError(f"{where}: prediction is {text[:40]!r}, expected {expected}")
    return value
