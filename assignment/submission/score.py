"""`python -m assignment score FILES --gold DIR`: every metric, its interval, the aggregate.

The aggregate of CS224N's leaderboard is the mean over tasks of accuracy or, for similarities, of
(1 + r) / 2. Its interval is put together from those of the tasks, whose rows are independent, by
MOVER (Zou and Donner 2008): the distances from each part's value to its lower ends add up as
squares, and so do those to its upper ends.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assignment.submission.dialects import ASKED, CS224N, SPLITS, is_predictions
from assignment.submission.opening import open_submission
from assignment.submission.validate import CODES, DATA, Checked, Gold, check
from data.examples import DataError
from evaluation.intervals import LEVEL, Interval, intervals
from evaluation.metrics import METRICS, task_metrics
from evaluation.significance import shown
from evaluation.table import csv_text, markdown
from runtime.commands import exit_code
from runtime.files import write_text
from runtime.options import option, parse

logger = logging.getLogger("assignment")

MOVER = "MOVER"
HEADER = ("file", "task", "split", "rows", "no answer", "metric", "value", "95 %")

# A part of a sum: its weight, its value and its interval.
Part = tuple[float, float | None, Interval | None]


def measured_as(task: str) -> str:
    """Return the task of data.tasks whose metrics a task has: two classes are two classes."""
    return "para" if task == "cfimdb" else task


def main_metric(task: str) -> str:
    """Return the metric that the aggregate counts, "accuracy" or "pearson"."""
    return ASKED[task].main_metric


def filled(task: str, answers: Sequence[float | None], labels: np.ndarray) -> np.ndarray:
    """Return predictions (N,) in which every row has one.

    No answer counts as wrong: the class after the right one stands for it. Of similarities it is
    the mean of the answers given, which tells r nothing.

    Args:
        task: a name of dialects.ASKED.
        answers: of N rows, None for no answer.
        labels: (N,).
    """
    record = ASKED[task]
    given = [answer for answer in answers if answer is not None]
    if record.label_kind == "score":
        stand_in = np.full(len(labels), np.mean(given) if given else 0.0)
    else:
        stand_in = (labels + 1) % record.num_classes
    rows = zip(answers, stand_in, strict=True)
    return np.array([other if answer is None else answer for answer, other in rows], np.float64)


def weight(task: str, tasks: int) -> float:
    """Return how much the aggregate of so many tasks grows with a task's main metric."""
    return (0.5 if ASKED[task].label_kind == "score" else 1.0) / tasks


def aggregate(scores: Mapping[str, float | None]) -> float | None:
    """Return the course's aggregate of main metrics by task, None if one is undefined."""
    total = 0.0
    for task, score in scores.items():
        if score is None:
            return None
        total += (1 + score) / 2 if ASKED[task].label_kind == "score" else score
    return total / len(scores)


def combined(value: float, parts: Iterable[Part]) -> Interval | None:
    """Return the interval of a weighted sum of independent parts, by MOVER; weights are positive.

    Returns:
        None where no part has an interval, as all of its resamples agree.
    """
    below, above = 0.0, 0.0
    known = [(w, middle, found) for w, middle, found in parts if found and middle is not None]
    for w, middle, found in known:
        below += (w * (middle - found.low)) ** 2
        above += (w * (found.high - middle)) ** 2
    return Interval(value - below**0.5, value + above**0.5, MOVER) if known else None


def p_value(difference: float, interval: Interval | None) -> float | None:
    """Return the two-sided p of a difference being 0, from the side of its interval towards 0.

    It is below 0.05 exactly where the 95 % interval leaves out 0; None where that says nothing.
    """
    from scipy.special import ndtr, ndtri  # a normal distribution's P(X < x), and its inverse

    if difference == 0:
        return 1.0
    low, high = (interval.low, interval.high) if interval else (difference, difference)
    towards = difference - low if difference > 0 else high - difference
    if towards <= 0:
        return None
    errors = float(ndtri((1 + LEVEL) / 2))  # standard errors in half an interval
    return float(2 * ndtr(-(abs(difference) / towards * errors)))


def labelled(checked: Checked, gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictions and the labels (N,) of a document; its notes are logged.

    Raises:
        DataError: the document has a fault, or the data no labels for it.
    """
    check_sound(checked)
    for note in checked.notes:
        logger.warning("%s", note)
    expected = gold.expected(checked.task, checked.split)
    labels = gold.labels(checked.task, checked.split)
    if expected is None or labels is None:
        place = f"{checked.task} {checked.split}"
        raise DataError(f"{gold.folder}: no labels of {place}; give the folder that has them")
    return filled(checked.task, checked.predictions(expected), labels), labels


def check_sound(checked: Checked) -> None:
    """Check that a document has no fault.

    Raises:
        DataError: it has; the message is the first, and how many there are.
    """
    if checked.faults:
        more = len(checked.faults) - 1
        others = f" (and {more:,} more: python -m assignment validate)" if more else ""
        raise DataError(f"{checked.faults[0]}{others}")


@dataclass(frozen=True)
class ScoreOptions:
    """`python -m assignment score`."""

    paths: tuple[Path, ...] = option(
        (), "files, folders or zips of predictions", flag="paths", metavar="PATH"
    )
    gold: str = option("bundled", DATA, metavar="DIR")
    csv: Path | None = option(None, "write the scores there", metavar="FILE")


def main(argv: Sequence[str] | None = None) -> int:
    """Score what a command line names; return the exit code."""
    options = parse(
        ScoreOptions,
        argv,
        prog="python -m assignment score",
        description="""\
Score files of predictions against the labels: accuracy, F1, Pearson, Spearman with 95 %
intervals, and the course's aggregate, the mean of both accuracies and (1 + r) / 2, where
all three tasks are given.""",
        epilog=f"""\
examples:
  python -m assignment score predictions/sts-dev-output.csv --gold downloads/cs224n
  python -m assignment score submission.zip --gold downloads/cs224n --csv scores.csv

A row without an answer counts as wrong; of similarities, as the mean of those given.
{CODES}""",
    )
    return exit_code(lambda: score(options))


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


def score(options: ScoreOptions) -> None:
    """Score all files of predictions that a command line names, and print the table.

    Raises:
        DataError: there is none, one is faulty, or its split has no labels.
        OSError: the table cannot be written.
    """
    if not options.paths:
        raise DataError("score: no files given; name files, folders or zips of predictions")
    gold = Gold(options.gold)
    documents = [one for path in options.paths for one in open_submission(path)]
    many = len(documents) > 1
    kept = [one for one in documents if not many or is_predictions(one)]
    checked = [check(one, gold, any_name=True) for one in kept]
    for one in checked:
        check_sound(one)
    # The test files of a whole submission stay unscored where their labels are kept back.
    labelled_ones = [
        one for one in checked if not many or gold.labels(one.task, one.split) is not None
    ]
    rows = [row for one in labelled_ones for row in _scores(one, gold)]
    if not rows:
        raise DataError(f"{gold.folder}: no labels of what was given; give the folder of --gold")
    rows += [row for split in SPLITS for row in _aggregate(rows, split)]
    shown_rows = [[*map(str, row[:6]), decimals(row.value), shown(row.interval)] for row in rows]
    print(markdown(HEADER, shown_rows))
    if options.csv:
        cells = [[*row[:7], *ends(row.interval)] for row in rows]
        write_text(options.csv, csv_text((*HEADER[:-1], "low", "high"), cells))


def _scores(checked: Checked, gold: Gold) -> Iterator[Score]:
    """Yield the scores of a document in all metrics of its task."""
    predictions, labels = labelled(checked, gold)
    task, split = checked.task, checked.split
    values = task_metrics(measured_as(task), predictions, labels)
    found = intervals(measured_as(task), predictions, labels)
    place = checked.document.shown, task, split, len(labels), checked.unanswered
    for metric in METRICS:
        if metric in found:
            yield Score(*place, metric, values[metric], found[metric])


def _aggregate(scores: Sequence[Score], split: str) -> Iterator[Score]:
    """Yield the row of the aggregate where each of CS224N's tasks is there once."""
    own = [
        one
        for one in scores
        if one.split == split and one.task in CS224N and one.metric == main_metric(one.task)
    ]
    if sorted(one.task for one in own) == sorted(CS224N):
        value = aggregate({one.task: one.value for one in own})
        parts = [(weight(one.task, len(own)), one.value, one.interval) for one in own]
        interval = None if value is None else combined(value, parts)
        rows, empty = sum(one.rows for one in own), sum(one.unanswered for one in own)
        yield Score("all three", "all", split, rows, empty, "aggregate", value, interval)


def decimals(value: float | None) -> str:
    """Return a score as tables show it."""
    return "undefined" if value is None else f"{value:.3f}"


def ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the two ends of an interval, None each where there is none."""
    return (interval.low, interval.high) if interval else (None, None)
