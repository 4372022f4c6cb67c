"""`python -m assignment score FILES --gold DIR`: every metric, its interval, the aggregate.

The aggregate of CS224N's leaderboard is the mean over tasks of accuracy or, for similarities, of
(1 + r) / 2. Its interval is put together from those of the tasks, whose rows are independent, by
MOVER (Zou and Donner 2008): the distances from each part's value to its lower ends add up as
squares, and so do those to its upper ends.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from assignment.submission.opening import open_submission
from assignment.submission.reader import (
    ASKED,
    CODES,
    CS224N,
    DATA,
    SPLITS,
    Checked,
    Gold,
    check,
    is_predictions,
    one_per_task,
    passed_over,
)
from data.examples import DataError
from evaluation.intervals import Interval, intervals
from evaluation.metrics import task_metrics
from evaluation.significance import shown
from evaluation.table import csv_text, markdown
from runtime.files import check_outputs, write_text
from runtime.options import option, parse

logger = logging.getLogger("assignment")

MOVER = "MOVER"
AGGREGATE = "aggregate"
HEADER = ("file", "task", "split", "rows", "no answer", "metric", "value", "95%")


def measured_as(task: str) -> str:
    """Return the task of data.tasks whose metrics a task has: two classes are two classes."""
    return "para" if task == "cfimdb" else task


def filled(task: str, answers: Sequence[float | None], labels: np.ndarray) -> np.ndarray:
    """Return predictions (N,) in which every row has one.

    No answer, None, counts as wrong: the class after the right one stands for it. Of similarities
    it is the mean of the answers given, which tells r nothing.
    """
    record = ASKED[task]
    given = [answer for answer in answers if answer is not None]
    if record.label_kind == "score":
        stand_in = np.full(len(labels), np.mean(given) if given else 0.0)
    else:
        stand_in = (labels + 1) % record.num_classes
    rows = zip(answers, stand_in, strict=True)
    return np.array([other if answer is None else answer for answer, other in rows], np.float64)


def aggregate(scores: Mapping[str, float | None]) -> float | None:
    """Return the course's aggregate of main metrics by task, None if one is undefined."""
    total = 0.0
    for task, score in scores.items():
        if score is None:
            return None
        total += (1 + score) / 2 if ASKED[task].label_kind == "score" else score
    return total / len(scores)


def aggregate_interval(
    value: float, parts: Mapping[str, tuple[float | None, Interval | None]]
) -> Interval | None:
    """Return the interval of an aggregate by MOVER.

    `parts` is task -> the value and the interval of its main metric. None where no part has an
    interval, as all of its resamples agree.
    """
    below, above, known = 0.0, 0.0, False
    for task, (middle, interval) in parts.items():
        if middle is not None and interval is not None:
            # The aggregate grows half as fast with r as with an accuracy.
            weight = (0.5 if ASKED[task].label_kind == "score" else 1.0) / len(parts)
            below += (weight * (middle - interval.low)) ** 2
            above += (weight * (interval.high - middle)) ** 2
            known = True
    return Interval(value - below**0.5, value + above**0.5, MOVER) if known else None


def labelled(checked: Checked, gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictions and the labels (N,) of a document; its notes are logged.

    Raises:
        DataError: the document has a fault, or the data no labels for it.
    """
    if checked.faults:
        more = len(checked.faults) - 1
        others = f" (and {more:,} more: python -m assignment validate)" if more else ""
        raise DataError(f"{checked.faults[0]}{others}")
    for note in checked.notes:
        logger.warning("%s", note)
    expected = gold.expected(checked.task, checked.split)
    if expected is None or expected.labels is None:
        place = f"{checked.task} {checked.split}"
        raise DataError(f"{gold.folder}: no labels of {place}; give the folder that has them")
    answers = [checked.answers[id].value for id in expected.ids]
    return filled(checked.task, answers, expected.labels), expected.labels


def main_scores(
    path: Path, gold: Gold, tasks: Sequence[str], split: str
) -> dict[str, float | None]:
    """Return the main metric of each task, of the predictions in a folder or zip.

    Raises:
        DataError: the first fault of the files that count.
    """
    checked = [check(file, gold) for file in open_submission(path) if is_predictions(file)]
    chosen, faults = one_per_task(checked, [(task, split) for task in tasks], path.name, gold)
    if faults:
        # A file of the right task under a wrong name explains what is missing.
        unnamed = [file.faults[0] for file in checked if file.faults and file.split in ("", split)]
        raise DataError((unnamed + faults)[0])
    return {
        task: task_metrics(measured_as(task), *labelled(file, gold))[ASKED[task].main_metric]
        for (task, _), file in chosen.items()
    }


@dataclass(frozen=True)
class ScoreOptions:
    """`python -m assignment score`."""

    paths: tuple[Path, ...] = option(
        (), "files, folders or zips of predictions", flag="paths", metavar="PATH"
    )
    gold: str = option("bundled", DATA, metavar="DIR")
    csv: Path | None = option(None, "write the scores to this file", metavar="FILE")


class Score(NamedTuple):
    """One metric of one file: a row of the table."""

    file: str
    task: str
    split: str
    rows: int
    unanswered: int
    metric: str
    value: float | None
    interval: Interval | None


def main(argv: Sequence[str]) -> None:
    """Score all files of predictions that a command line names, and print the table.

    Raises:
        DataError: there is none, one is faulty, or its split has no labels.
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
    if not options.paths:
        raise DataError("score: no files given; name files, folders or zips of predictions")
    check_outputs([options.csv], options.paths)
    gold = Gold(options.gold)
    documents = [document for path in options.paths for document in open_submission(path)]
    if len(documents) > 1 and (note := passed_over(documents)):
        logger.warning("%s", note)
    many = len(documents) > 1
    rows: list[Score] = []
    for document in documents:
        if many and not is_predictions(document):
            continue
        checked = check(document, gold, any_name=True)
        # The test files of a whole submission stay unscored where their labels are kept back.
        if checked.faults or not many or gold.labels(checked.task, checked.split) is not None:
            rows += _scores(checked, gold)
    if not rows:
        raise DataError(
            f"{gold.folder}: no labels for these files; give another folder with --gold"
        )
    rows += [row for split in SPLITS for row in _aggregate(rows, split)]
    shown_rows = [[*map(str, row[:6]), decimals(row.value), shown(row.interval)] for row in rows]
    print(markdown(HEADER, shown_rows))
    if options.csv:
        ends = [(i.low, i.high) if (i := row.interval) else (None, None) for row in rows]
        cells = [[*row[:7], *low_high] for row, low_high in zip(rows, ends, strict=True)]
        write_text(options.csv, csv_text((*HEADER[:-1], "low", "high"), cells))


def _scores(checked: Checked, gold: Gold) -> Iterator[Score]:
    """Yield the scores of a document in all metrics of its task."""
    predictions, labels = labelled(checked, gold)
    values = task_metrics(measured_as(checked.task), predictions, labels)
    place = checked.document.shown, checked.task, checked.split, len(labels), checked.unanswered
    for metric, interval in intervals(measured_as(checked.task), predictions, labels).items():
        yield Score(*place, metric, values[metric], interval)


def _aggregate(scores: Sequence[Score], split: str) -> Iterator[Score]:
    """Yield the row of the aggregate where each of CS224N's tasks is there once.

    Where a task is there more often, as in `bert` and `bert/multitask`, each folder has a row.
    """
    main = [
        row
        for row in scores
        if row.split == split and row.task in CS224N and row.metric == ASKED[row.task].main_metric
    ]
    groups = {"all three": main}
    if len(main) > len(CS224N):
        groups = {
            f"all three of {folder}": [row for row in main if _folder(row) == folder]
            for folder in dict.fromkeys(map(_folder, main))
        }
    for name, parts in groups.items():
        if sorted(row.task for row in parts) == sorted(CS224N):
            value = aggregate({row.task: row.value for row in parts})
            known = {row.task: (row.value, row.interval) for row in parts}
            interval = None if value is None else aggregate_interval(value, known)
            rows, unanswered = sum(row.rows for row in parts), sum(row.unanswered for row in parts)
            yield Score(name, "all", split, rows, unanswered, AGGREGATE, value, interval)


def _folder(score: Score) -> str:
    return str(PurePosixPath(score.file).parent)


def decimals(value: float | None) -> str:
    """Return a score as tables show it."""
    return "undefined" if value is None else f"{value:.3f}"
