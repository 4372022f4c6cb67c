"""`python -m assignment leaderboard FOLDER --gold DIR`: a class's submissions, ranked and tested.

Neighbours are compared on the same rows: in each task's main metric by its paired test (McNemar,
paired permutation), in the aggregate by the interval of the difference. Holm's correction is over
the whole board, once for the aggregate and once for the tasks, which repeat its question.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from assignment.submission.dialects import ASKED, CS224N, is_predictions
from assignment.submission.opening import open_submission, short
from assignment.submission.score import (
    MOVER,
    aggregate,
    combined,
    decimals,
    labelled,
    main_metric,
    measured_as,
    p_value,
    weight,
)
from assignment.submission.validate import CODES, DATA, Gold, check, one_per_task
from data.examples import DataError
from evaluation.intervals import Interval
from evaluation.metrics import task_metrics
from evaluation.significance import Comparison, Estimate, adjusted, compare, sentence, shown
from evaluation.table import markdown
from runtime.commands import exit_code
from runtime.files import write_text
from runtime.options import option, parse

AGGREGATE = "aggregate"
LEAST_SHOWN = 0.0001
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
    """All that a leaderboard shows.

    Attributes:
        tasks: those that count.
        split: the split that counts.
        rows: how many examples each task has.
        places: the best first.
        ahead: each place against the next, in the aggregate.
        by_task: the same in each task's main metric.
        broken: name and first fault of each submission that cannot be scored.
    """

    tasks: tuple[str, ...]
    split: str
    rows: dict[str, int]
    places: list[Place]
    ahead: list[Comparison]
    by_task: dict[str, list[Comparison]]
    broken: list[tuple[str, str]]


@dataclass(frozen=True)
class LeaderboardOptions:
    """`python -m assignment leaderboard`."""

    folder: Path = option(help="the folder of submissions", flag="folder", metavar="FOLDER")
    gold: str = option("bundled", DATA, metavar="DIR")
    split: str = option("test", "the split that counts", choices=("dev", "test"))
    tasks: tuple[str, ...] = option(CS224N, "tasks that count", choices=tuple(ASKED))
    html: Path | None = option(None, "write the page there", metavar="FILE")


def main(argv: Sequence[str] | None = None) -> int:
    """Rank the submissions that a command line names; return the exit code."""
    options = parse(
        LeaderboardOptions,
        argv,
        prog="python -m assignment leaderboard",
        description="""\
Rank the submissions of a folder, each a folder or a zip: scores with 95 % intervals, and
whether each is really ahead of the next (paired tests on the same rows, Holm's correction).
A broken submission is listed with its first fault and stops no other.""",
        epilog=f"""\
examples:
  python -m assignment leaderboard submissions --gold downloads/cs224n --html board.html
  python -m assignment leaderboard submissions --gold hidden --split test

Zips are read in memory and within bounds; links, and entries that name places outside, are
refused. {CODES}""",
    )
    return exit_code(lambda: leaderboard(options))


def leaderboard(options: LeaderboardOptions) -> None:
    """Rank the submissions of a folder, print the tables, write the page if asked.

    Raises:
        DataError: the folder holds no submission, or the data no labels.
        OSError: the page cannot be written.
    """
    gold, folder, split = Gold(options.gold), options.folder, options.split
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give the one with the submissions")
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
    print("\n\n".join(markdown_tables(board)))
    if options.html:
        write_text(options.html, render(board, folder.resolve().name))


def read_submission(path: Path, gold: Gold, tasks: tuple[str, ...], split: str) -> Predictions:
    """Return the predictions (N,) of each task in a folder or zip.

    Raises:
        DataError: the first fault of what counts.
    """
    checked = [check(one, gold) for one in open_submission(path) if is_predictions(one)]
    found, faults = one_per_task(checked, [(task, split) for task in tasks], path.name)
    # A file of the right task under a wrong name explains what is missing.
    unnamed = [one.faults[0] for one in checked if one.faults and one.split in ("", split)]
    if faults:
        raise DataError((unnamed + faults)[0])
    return {task: labelled(one, gold)[0] for (task, _), one in found.items()}


def make_board(
    submissions: Mapping[str, Predictions],
    labels: Predictions,
    split: str,
    broken: Sequence[tuple[str, str]] = (),
) -> Board:
    """Return the leaderboard of submissions, predictions (N,) of each task by name."""
    values = {name: aggregate(main_scores(found, labels)) for name, found in submissions.items()}
    # An undefined aggregate has no rank; names decide between equal ones.
    order = sorted(submissions, key=lambda name: (values[name] is None, -(values[name] or 0), name))
    pairs = list(pairwise(order))
    estimates: dict[str, dict[str, Estimate]] = {name: {} for name in order}
    by_task: dict[str, list[Comparison]] = {}
    for task, gold in labels.items() if order else ():
        systems = {name: {0: submissions[name][task]} for name in order}
        own, by_task[task] = compare(measured_as(task), main_metric(task), systems, gold, pairs)
        for found in own:
            estimates[found.system][task] = found
    places = []
    for name in order:
        value = values[name]
        rank, interval = None, None
        if value is not None:
            rank = 1 + [values[other] for other in order].index(value)  # equal ones share it
            parts = [
                (weight(task, len(labels)), one.mean, one.interval)
                for task, one in estimates[name].items()
            ]
            interval = combined(value, parts)
        interval = interval and interval.within(0, 1)
        places.append(Place(name, rank, value, interval, estimates[name]))
    ahead = [
        _ahead(first, second, {task: versus[k] for task, versus in by_task.items()})
        for k, (first, second) in enumerate(pairwise(places))
    ]
    family = iter(adjusted([one for versus in by_task.values() for one in versus]))
    tested = {task: [next(family) for _ in versus] for task, versus in by_task.items()}
    sizes = {task: len(gold) for task, gold in labels.items()}
    return Board(tuple(labels), split, sizes, places, adjusted(ahead), tested, list(broken))


def main_scores(found: Predictions, labels: Predictions) -> dict[str, float | None]:
    """Return the main metric of each task."""
    return {
        task: task_metrics(measured_as(task), found[task], gold)[main_metric(task)]
        for task, gold in labels.items()
    }


def _ahead(first: Place, second: Place, by_task: Mapping[str, Comparison]) -> Comparison:
    """Return the comparison of a place with the next in the aggregate."""
    difference, interval, p = None, None, None
    if first.value is not None and second.value is not None:
        difference = first.value - second.value
        parts = [
            (weight(task, len(by_task)), one.difference, one.interval)
            for task, one in by_task.items()
        ]
        interval = combined(difference, parts)
        p = p_value(difference, interval)
    n = sum(one.n for one in by_task.values())
    names = first.name, second.name
    return Comparison(*names, AGGREGATE, n, (0,), difference, interval, MOVER, p)


def markdown_tables(board: Board) -> list[str]:
    """Return the ranking, the tests between neighbours and the broken ones, as Markdown."""
    tables = []
    if board.places:
        metrics = [f"{task} {main_metric(task)}" for task in board.tasks]
        rows = []
        for place in board.places:
            rank = "-" if place.rank is None else str(place.rank)
            row = [rank, _escaped(place.name), decimals(place.value), shown(place.interval)]
            for one in place.estimates.values():
                row.append(f"{decimals(one.mean)} {shown(one.interval)}".rstrip())
            rows.append(row)
        tables.append(markdown(["rank", "submission", "aggregate", "95 %", *metrics], rows))
    if board.ahead:
        escaped = [replace(one, a=_escaped(one.a), b=_escaped(one.b)) for one in board.ahead]
        tables.append("\n".join(f"- {sentence(one)}" for one in escaped))
    tests = []
    for task, comparisons in board.by_task.items():
        for versus in comparisons:
            difference = "undefined"
            if versus.difference is not None:
                difference = f"{versus.difference:+.3f}"
            names = [_escaped(versus.a), _escaped(versus.b), f"{task} {versus.metric}"]
            p_values = [_p(versus.p), _p(versus.p_holm)]
            tests.append([*names, difference, shown(versus.interval), versus.test, *p_values])
    if tests:
        header = ["a", "b", "metric", "a minus b", "95 %", "test", "p", "p (Holm)"]
        tables.append(markdown(header, tests))
    if board.broken:
        rows = [[_escaped(word) for word in one] for one in board.broken]
        tables.append(markdown(["broken", "first fault"], rows))
    return tables


def _p(p: float | None) -> str:
    """Return a p value with four digits; none of them is nought."""
    if p is None:
        return "-"
    return f"< {LEAST_SHOWN}" if p < LEAST_SHOWN else f"{p:.4f}"


def _escaped(text: str) -> str:
    """Return a stranger's words as Markdown that shows them and nothing else."""
    return MARKUP.sub(r"\\\1", text)


def render(board: Board, name: str) -> str:
    """Return the leaderboard as one page that refers to nothing outside; all texts are escaped.

    Args:
        name: in its heading.
    """
    from assignment.pages import filled_in
    from report.page.tables import Entry, Table, interval, number, word

    places = []
    for place in board.places:
        row = [word(place.name), number(place.rank, 0)]
        row.append(number(place.value, 3, interval(place.interval)))
        for one in place.estimates.values():
            row.append(number(one.mean, 3, interval(one.interval)))
        places.append(row)
    tests = []
    for task, comparisons in [("", board.ahead), *board.by_task.items()]:
        for versus in comparisons:
            row = [word(f"{versus.a} − {versus.b}"), word(f"{task} {versus.metric}".strip())]
            row.append(number(versus.difference, 3, interval(versus.interval), sign=True))
            row += [Entry(_p(p), p) for p in (versus.p_holm, versus.p)]
            tests.append([*row, word(versus.test)])
    metrics = (f"{task} {main_metric(task)}" for task in board.tasks)
    header = ("A minus B", "metric", "difference", "p (Holm)", "p", "test")
    return filled_in(
        "leaderboard.html.j2",
        name=name,
        split=board.split,
        rows=board.rows,
        places=Table(
            f"{board.split}: scores with 95 % intervals",
            ("submission", "rank", "aggregate", *metrics),
            places,
        ),
        verdicts=[sentence(one) for one in board.ahead],
        tests=Table("Each place against the next, on the same rows", header, tests),
        broken=Table(
            "Submissions that could not be scored",
            ("submission", "first fault"),
            [[word(name), word(fault)] for name, fault in board.broken],
            "long",
        ),
    )
