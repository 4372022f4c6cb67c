"""`python -m assignment score FILES --gold DIR`: every metric, its interval, the aggregate.

Reads: opening, checking, scoring. Feeds: the user.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from assignment.submission.checking import Checked, check
from assignment.submission.dialects import SPLITS
from assignment.submission.gold import Gold
from assignment.submission.opening import open_submission
from assignment.submission.options import ScoreOptions
from assignment.submission.scoring import (
    aggregate,
    combined,
    filled,
    main_metric,
    measured_as,
    weight,
)
from assignment.submission.validate import existing, is_predictions
from data.examples import DataError
from data.fetch.locate import data_folder
from data.tasks import TASKS
from evaluation.intervals import Interval, intervals
from evaluation.metrics import METRICS, Metrics, task_metrics
from evaluation.table import csv_text, markdown
from report.verdict import shown
from runtime.files import write_text

Say = Callable[[str], None]
HEADER = ("file", "task", "split", "rows", "no answer", "metric", "value", "95 %")


@dataclass(frozen=True)
class Scored:
    """A file's scores against the labels of its split."""

    file: str
    task: str
    split: str
    rows: int
    unanswered: int
    metrics: Metrics
    intervals: dict[str, Interval | None]


def score(options: ScoreOptions, say: Say = print) -> list[Scored]:
    """Score all files of predictions that a command line names, and print the table.

    Raises:
        DataError: there is none, one is faulty, or its split has no labels.
        OSError: the table cannot be written.
    """
    gold = Gold(existing(data_folder(options.gold)))
    documents = [one for path in options.paths for one in open_submission(path)]
    if not options.paths:
        raise DataError("score: no files given; name files, folders or zips of predictions")
    many = len(documents) > 1
    kept = [one for one in documents if not many or is_predictions(one)]
    checked = [sound(check(one, gold, any_name=True)) for one in kept]
    # The test files of a whole submission stay unscored where their labels are kept back.
    scored = [score_checked(one, gold) for one in checked if not many or has_labels(one, gold)]
    if not scored:
        raise DataError(f"{gold.folder}: no labels of what was given; give the folder of --gold")
    rows = [row for one in scored for row in _rows(one)]
    rows += [row for split in SPLITS for row in _aggregate(scored, split)]
    say(markdown(HEADER, [[*map(str, row[:6]), _number(row[6]), shown(row[7])] for row in rows]))
    if options.csv:
        header = (*HEADER[:-1], "low", "high")
        cells = [
            [*row[:7], *((row[7].low, row[7].high) if row[7] else (None, None))] for row in rows
        ]
        write_text(options.csv, csv_text(header, cells))
    return scored


def sound(checked: Checked) -> Checked:
    """Return a checked document that has no fault.

    Raises:
        DataError: it has; the message is the first, and how many there are.
    """
    if checked.faults:
        more = len(checked.faults) - 1
        others = f" (and {more:,} more: python -m assignment validate)" if more else ""
        raise DataError(f"{checked.faults[0]}{others}")
    return checked


def labelled(checked: Checked, gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictions and the labels (N,) of a document without faults.

    Raises:
        DataError: the data has no labels for it.
    """
    expected = gold.expected(str(checked.task), str(checked.split))
    labels = expected.labels if expected else None
    if expected is None or labels is None:
        place = f"{checked.task} {checked.split}"
        raise DataError(f"{gold.folder}: no labels of {place}; give the folder that has them")
    return filled(str(checked.task), checked.predictions(expected), labels), labels


def has_labels(checked: Checked, gold: Gold) -> bool:
    """Return whether the data can tell how good a document is."""
    expected = gold.expected(str(checked.task), str(checked.split))
    return expected is not None and expected.labels is not None


def score_checked(checked: Checked, gold: Gold) -> Scored:
    """Return the scores of a document without faults.

    Raises:
        DataError: the data has no labels for it.
    """
    predictions, labels = labelled(checked, gold)
    task = str(checked.task)
    metrics = task_metrics(measured_as(task), predictions, labels)
    found = intervals(measured_as(task), predictions, labels)
    place = checked.document.shown, task, str(checked.split)
    return Scored(*place, len(labels), checked.unanswered, metrics, found)


def _rows(one: Scored) -> Iterable[tuple]:
    for metric in METRICS:
        if metric in one.intervals:
            place = one.file, one.task, one.split, one.rows, one.unanswered
            yield *place, metric, one.metrics[metric], one.intervals[metric]


def _aggregate(scored: list[Scored], split: str) -> Iterable[tuple]:
    """Yield the row of the aggregate where each of CS224N's tasks is there once."""
    own = [one for one in scored if one.split == split and one.task in TASKS]
    if sorted(one.task for one in own) != sorted(TASKS):
        return
    value = aggregate({one.task: one.metrics[main_metric(one.task)] for one in own})
    parts = [
        (weight(one.task, len(own)), one.metrics[name], one.intervals[name])
        for one in own
        for name in [main_metric(one.task)]
    ]
    interval = None if value is None else combined(value, parts)
    rows, empty = sum(one.rows for one in own), sum(one.unanswered for one in own)
    yield "all three", "all", split, rows, empty, "aggregate", value, interval


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
