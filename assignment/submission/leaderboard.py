"""`python -m assignment leaderboard FOLDER --gold DIR`: a class's submissions, ranked and tested.

Neighbours are compared on the same rows, by the interval of the difference of their aggregates.
Holm's correction is over the whole board.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from assignment.submission.dialects import ASKED, CS224N, is_predictions
from assignment.submission.opening import open_submission, short
from assignment.submission.score import (
    MOVER,
    aggregate,
    aggregate_interval,
    labelled,
    measured_as,
)
from assignment.submission.validate import CODES, DATA, Gold, check, one_per_task
from data.examples import DataError
from evaluation.intervals import LEVEL, Interval
from evaluation.metrics import task_metrics
from evaluation.significance import Comparison, Estimate, adjusted, compare, sentence
from evaluation.table import markdown
from report.page.tables import Table, interval, number, word
from runtime.files import check_outputs, write_text
from runtime.options import option, parse

AGGREGATE = "aggregate"
# What Markdown, or a page made of it, would take for more than words.
MARKUP = re.compile(r"([\\`*\[\]<>|&~!])")

Predictions = Mapping[str, np.ndarray]  # task -> (N,)


@dataclass(frozen=True)
class Place:
    """One submission: `rank` and `value` are None where the aggregate is undefined."""

    name: str
    rank: int | None
    value: float | None
    interval: Interval | None
    estimates: dict[str, Estimate]  # of each task's main metric


@dataclass(frozen=True)
class Board:
    """All that a leaderboard shows."""

    split: str  # the split to rank by
    rows: dict[str, int]  # task -> how many examples it has, of those that count
    places: list[Place]  # the best first
    ahead: list[Comparison]  # each place against the next, in the aggregate
    broken: list[tuple[str, str]]  # name and first fault of each that cannot be scored


@dataclass(frozen=True)
class LeaderboardOptions:
    """`python -m assignment leaderboard`."""

    folder: Path = option(help="the folder of submissions", flag="folder", metavar="FOLDER")
    gold: str = option("bundled", DATA, metavar="DIR")
    split: str = option("test", "the split to rank by", choices=("dev", "test"))
    tasks: tuple[str, ...] = option(CS224N, "tasks to rank by", choices=tuple(ASKED))
    html: Path | None = option(None, "write the page to this file", metavar="FILE")


ABOUT: dict[str, Any] = {
    "prog": "python -m assignment leaderboard",
    "description": """\
Rank the submissions of a folder, each a folder or a zip: scores with 95% intervals, and
whether each is significantly better than the next (same rows, Holm's correction).
A broken submission is listed with its first error; the others are still ranked.""",
    "epilog": f"""\
example:
  python -m assignment leaderboard submissions --gold fall/instructor/gold --html board.html

{CODES}""",
}


def main(argv: Sequence[str]) -> None:
    """Rank the submissions of a folder, print the tables, write the page if asked.

    Raises:
        DataError: the folder holds no submission, or the data no labels.
    """
    options = parse(LeaderboardOptions, argv, **ABOUT)
    gold, folder, split = Gold(options.gold), options.folder, options.split
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give the one with the submissions")
    check_outputs([options.html], folder.iterdir())
    labels: dict[str, np.ndarray] = {}
    for task in options.tasks:
        known = gold.labels(task, split)
        if known is None:
            raise DataError(
                f"{gold.folder}: no labels of {task} {split}; give the folder that has them "
                "(--gold), another --split, or --tasks without it"
            )
        labels[task] = known
    submissions: dict[str, Predictions] = {}
    broken = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not (path.is_dir() or path.suffix.lower() == ".zip"):
            continue
        name = short(path.name, 80)
        try:
            submissions[name] = read_submission(path, gold, tuple(labels), split)
        except DataError as error:
            broken.append((name, short(str(error), 300)))
    if not submissions and not broken:
        raise DataError(f"{folder}: no submission in it; expected folders and zips")
    board = make_board(submissions, labels, split, broken)
    print("\n\n".join(in_markdown(board)))
    if options.html:
        write_text(options.html, render(board, folder.resolve().name))


def read_submission(path: Path, gold: Gold, tasks: tuple[str, ...], split: str) -> Predictions:
    """Return the predictions (N,) of each task in a folder or zip.

    Raises:
        DataError: the first fault of what counts.
    """
    checked = [check(file, gold) for file in open_submission(path) if is_predictions(file)]
    chosen, faults = one_per_task(checked, [(task, split) for task in tasks], path.name, gold)
    if faults:
        # A file of the right task under a wrong name explains what is missing.
        unnamed = [file.faults[0] for file in checked if file.faults and file.split in ("", split)]
        raise DataError((unnamed + faults)[0])
    return {task: labelled(file, gold)[0] for (task, _), file in chosen.items()}


def make_board(
    submissions: Mapping[str, Predictions],
    labels: Predictions,
    split: str,
    broken: Sequence[tuple[str, str]] = (),
) -> Board:
    """Return the leaderboard of submissions, predictions (N,) of each task by name."""
    values = {
        name: aggregate(main_scores(predictions, labels))
        for name, predictions in submissions.items()
    }
    # An undefined aggregate has no rank; names decide between equal ones.
    order = sorted(submissions, key=lambda name: (values[name] is None, -(values[name] or 0), name))
    ranking = [values[name] for name in order]
    estimates: dict[str, dict[str, Estimate]] = {name: {} for name in order}
    versus: dict[str, list[Comparison]] = {}  # task -> each place against the next
    for task, gold in labels.items() if order else ():
        systems = {name: {0: submissions[name][task]} for name in order}
        pairs = list(pairwise(order))
        metric = ASKED[task].main_metric
        scores, versus[task] = compare(measured_as(task), metric, systems, gold, pairs)
        for score in scores:
            estimates[score.system][task] = score
    places = []
    for name, value in zip(order, ranking, strict=True):
        rank, spread = None, None
        if value is not None:
            rank = 1 + ranking.index(value)  # equal ones share it
            parts = {task: (score.mean, score.interval) for task, score in estimates[name].items()}
            spread = aggregate_interval(value, parts)
        spread = spread and spread.within(0, 1)
        places.append(Place(name, rank, value, spread, estimates[name]))
    ahead = [
        _ahead(first, second, {task: tests[k] for task, tests in versus.items()})
        for k, (first, second) in enumerate(pairwise(places))
    ]
    rows = {task: len(gold) for task, gold in labels.items()}
    return Board(split, rows, places, adjusted(ahead), list(broken))


def main_scores(predictions: Predictions, labels: Predictions) -> dict[str, float | None]:
    """Return the main metric of each task."""
    return {
        task: task_metrics(measured_as(task), predictions[task], gold)[ASKED[task].main_metric]
        for task, gold in labels.items()
    }


def _ahead(first: Place, second: Place, by_task: Mapping[str, Comparison]) -> Comparison:
    """Return the comparison of a place with the next in the aggregate."""
    difference, spread, p = None, None, None
    if first.value is not None and second.value is not None:
        difference = first.value - second.value
        parts = {task: (test.difference, test.interval) for task, test in by_task.items()}
        spread = aggregate_interval(difference, parts)
        p = p_value(difference, spread)
    n = sum(test.n for test in by_task.values())
    names = first.name, second.name
    return Comparison(*names, AGGREGATE, n, (0,), difference, spread, MOVER, p)


def p_value(difference: float, interval: Interval | None) -> float | None:
    """Return the two-sided p of a difference being 0, from the side of its interval towards 0.

    It is below 0.05 exactly where the 95% interval leaves out 0; None where that says nothing.
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


def tables(board: Board) -> tuple[Table, Table]:
    """Return the ranking and the broken submissions."""
    places = []
    for place in board.places:
        scores = [number(e.mean, 3, interval(e.interval)) for e in place.estimates.values()]
        total = number(place.value, 3, interval(place.interval))
        places.append([word(place.name), number(place.rank, 0), total, *scores])
    metrics = (f"{task} {ASKED[task].main_metric}" for task in board.rows)
    header = ("submission", "rank", "aggregate", *metrics)
    broken = [[word(name), word(fault)] for name, fault in board.broken]
    return (
        Table(f"{board.split}: scores with 95% intervals", header, places),
        Table("Submissions that could not be scored", ("broken", "first fault"), broken, "long"),
    )


def in_markdown(board: Board) -> list[str]:
    """Return the tables, and the verdicts on neighbours below the ranking, as Markdown."""
    texts = [
        markdown(
            table.header,
            [[f"{_escaped(e.text)} {e.note}".rstrip() for e in row] for row in table.rows],
        )
        for table in tables(board)
        if table.rows
    ]
    named = [replace(test, a=_escaped(test.a), b=_escaped(test.b)) for test in board.ahead]
    if named:
        texts.insert(1, "\n".join(f"- {sentence(test)}" for test in named))
    return texts


def _escaped(text: str) -> str:
    """Return a stranger's words as Markdown that shows them and nothing else."""
    return MARKUP.sub(r"\\\1", text)


def render(board: Board, name: str) -> str:
    """Return the leaderboard as one page with a name in its heading; all texts are escaped."""
    from assignment.pages import filled_in  # jinja2, which only a page needs

    places, broken = tables(board)
    return filled_in(
        "leaderboard.html.j2",
        name=name,
        split=board.split,
        rows=board.rows,
        places=places,
        verdicts=[sentence(test) for test in board.ahead],
        broken=broken,
    )
