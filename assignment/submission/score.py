"""`python -m assignment score PATH --gold DIR`: every metric, its interval, the aggregate.

The aggregate of CS224N's leaderboard is the mean over tasks of accuracy or, for similarities, of
(1 + r) / 2. Its interval is put together from those of the tasks, whose rows are independent, by
MOVER (Zou and Donner 2008): the distances from each part's value to its lower ends add up as
squares, and so do those to its upper ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assignment.submission.reader import (
    ASKED,
    CODES,
    CS224N,
    DATA,
    PATH,
    SPLITS,
    Gold,
    Place,
    PredictionFile,
    read_submission,
)
from data.examples import DataError
from evaluation.intervals import intervals
from evaluation.metrics import task_metrics
from evaluation.table import csv_text, markdown
from runtime.files import check_outputs, write_text
from runtime.options import option, parse

AGGREGATE = "aggregate"


def measured_as(task: str) -> str:
    """Return the task of data.tasks whose metrics a task has: two classes are two classes."""
    return "para" if task == "cfimdb" else task


def filled(task: str, answers: Sequence[float], labels: np.ndarray) -> np.ndarray:
    """Return predictions (N,) in which every row has one.

    No answer, NaN, counts as wrong: the class after the right one stands for it. Of similarities
    it is the mean of the answers given, which tells r nothing.
    """
    record, values = ASKED[task], np.array(answers, np.float64)
    empty = np.isnan(values)
    if record.label_kind == "score":
        return np.where(empty, 0.0 if empty.all() else values[~empty].mean(), values)
    return np.where(empty, (labels + 1) % record.num_classes, values)


def share(task: str, value: float) -> float:
    """Return what a main metric adds to the aggregate: an accuracy, or (1 + r) / 2."""
    return (1 + value) / 2 if ASKED[task].label_kind == "score" else value


def aggregate(scores: Mapping[str, float | None]) -> float | None:
    """Return the course's aggregate of main metrics by task, None if one is undefined."""
    shares = [share(task, score) for task, score in scores.items() if score is not None]
    return sum(shares) / len(scores) if len(shares) == len(scores) else None


def aggregate_interval(
    value: float, parts: Mapping[str, Sequence[float | None]]
) -> tuple[float | None, float | None]:
    """Return the interval of an aggregate by MOVER.

    `parts` is task -> value, low and high of its main metric. An interval is missing where all
    resamples agree.
    """
    known = [
        [share(task, end) for end in estimate if end is not None]
        for task, estimate in parts.items()
        if None not in estimate
    ]
    if not known:
        return None, None
    below = hypot(*(middle - low for middle, low, _ in known)) / len(parts)
    above = hypot(*(high - middle for middle, _, high in known)) / len(parts)
    return value - below, value + above


def labelled(file: PredictionFile, gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictions and the labels (N,) of a file.

    Raises:
        DataError: the file has a fault, or the data no labels for it.
    """
    if file.faults:
        raise DataError(file.faults[0])
    expected = gold.expected(*file.place)
    if expected.labels is None:
        place = " ".join(file.place)
        raise DataError(f"{gold.folder}: no labels of {place}; give the folder that has them")
    answers = [file.values[id][1] for id in expected.ids]
    return filled(file.place.task, answers, expected.labels), expected.labels


def main_scores(
    path: Path, gold: Gold, tasks: Sequence[str], split: str
) -> dict[str, float | None]:
    """Return the main metric of each task, of the predictions in a folder or zip.

    Raises:
        DataError: the first fault of the files that count.
    """
    places = [Place(task, split) for task in tasks]
    files, missing = read_submission(path, gold, places)
    if missing:
        raise DataError(missing[0])
    scores = {}
    for place in places:
        metrics = task_metrics(measured_as(place.task), *labelled(files[place], gold))
        scores[place.task] = metrics[ASKED[place.task].main_metric]
    return scores


@dataclass(frozen=True)
class ScoreOptions:
    """`python -m assignment score`."""

    path: Path = option(help=PATH, flag="path", metavar="PATH")
    gold: str = option("bundled", DATA, metavar="DIR")
    csv: Path | None = option(None, "write the scores to this file", metavar="FILE")


class Score(NamedTuple):
    """One metric of one file: a row of the table."""

    file: str
    task: str
    split: str
    rows: int
    empty: int
    metric: str
    value: float | None
    low: float | None
    high: float | None


def main(argv: Sequence[str]) -> None:
    """Score the files that count in a submission, and print the table.

    Raises:
        DataError: there is none, one is faulty, or no split has labels.
    """
    options = parse(
        ScoreOptions,
        argv,
        prog="python -m assignment score",
        description="""\
Score files of predictions against the labels: accuracy, F1, Pearson, Spearman with 95%
intervals, and the course's aggregate, the mean of both accuracies and (1 + r) / 2, where
all three tasks are given.""",
        epilog=f"""\
example:
  python -m assignment score submission.zip --gold downloads/cs224n --csv scores.csv

A row without a prediction counts as wrong; in STS, it gets the mean prediction.
{CODES}""",
    )
    check_outputs([options.csv], [options.path])
    gold = Gold(options.gold)
    files = read_submission(options.path, gold)[0].values()
    # The test files of a submission stay unscored where their labels are kept back.
    labelled_files = [file for file in files if gold.expected(*file.place).labels is not None]
    rows: list[Score] = []
    faults: list[str] = []
    for file in labelled_files or files:
        try:
            rows += _scores(file, gold)
        except DataError as error:
            faults.append(str(error))
    if rows:
        rows += [row for split in SPLITS for row in _aggregate(rows, split)]
        print(markdown(Score._fields, [[*map(_cell, row)] for row in rows]))
        if options.csv:
            write_text(options.csv, csv_text(Score._fields, rows))
    for fault in faults if rows else ():
        print(f"not scored: {fault}")
    if faults:
        left_out = f"{options.path}: {len(faults)} file(s) not scored, listed above; correct them"
        raise DataError(left_out if rows else faults[0])


def _scores(file: PredictionFile, gold: Gold) -> list[Score]:
    """Return the scores of a file in all metrics of its task."""
    predictions, labels = labelled(file, gold)
    task = measured_as(file.place.task)
    values = task_metrics(task, predictions, labels)
    about = file.shown, *file.place, len(labels), file.empty
    return [
        Score(*about, metric, values[metric], *((i.low, i.high) if i else (None, None)))
        for metric, i in intervals(task, predictions, labels).items()
    ]


def _aggregate(scores: Sequence[Score], split: str) -> list[Score]:
    """Return the row of the aggregate where each of CS224N's tasks is there, no row elsewhere."""
    parts = {
        row.task: row
        for row in scores
        if row.split == split and row.task in CS224N and row.metric == ASKED[row.task].main_metric
    }
    if len(parts) < len(CS224N):
        return []
    value = aggregate({task: row.value for task, row in parts.items()})
    known = {task: (row.value, row.low, row.high) for task, row in parts.items()}
    ends = (None, None) if value is None else aggregate_interval(value, known)
    rows = sum(row.rows for row in parts.values())
    empty = sum(row.empty for row in parts.values())
    return [Score("all three", "all", split, rows, empty, AGGREGATE, value, *ends)]


def _cell(value: Any) -> str:
    """Return an entry as tables show it."""
    if value is None:
        return "undefined"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
