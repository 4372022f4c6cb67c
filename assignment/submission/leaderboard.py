"""`python -m assignment leaderboard FOLDER --gold DIR`: a class's submissions, ranked.

Reads: opening, checking, board. Feeds: the user.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from assignment.submission.board import Board, Place, Predictions, make_board
from assignment.submission.checking import check, one_per_task
from assignment.submission.gold import Gold
from assignment.submission.opening import open_submission, printable
from assignment.submission.options import LeaderboardOptions
from assignment.submission.score import labelled, sound
from assignment.submission.scoring import main_metric
from assignment.submission.validate import existing, is_predictions
from data.examples import DataError
from data.fetch.locate import data_folder
from evaluation.significance import Comparison
from evaluation.table import csv_text, markdown
from report.verdict import sentence, shown
from runtime.errors import UserError
from runtime.files import write_text

Say = Callable[[str], None]
LEAST_SHOWN = 0.0001
# What Markdown, or a page made of it, would take for more than words.
MARKUP = re.compile(r"([\\`*\[\]<>|&~!])")


def leaderboard(options: LeaderboardOptions, say: Say = print) -> Board:
    """Rank the submissions of a folder, print the tables, write the files asked for.

    Raises:
        DataError: the folder holds no submission, or the data no labels.
        UserError: a library that fills in the page is not installed.
        OSError: a file cannot be written.
    """
    gold = Gold(existing(data_folder(options.gold)))
    labels = {task: _labels(gold, task, options.split) for task in dict.fromkeys(options.tasks)}
    submissions: dict[str, Predictions] = {}
    broken = []
    for path in _submissions(options.folder):
        name = printable(path.name, 80)
        try:
            submissions[name] = read_submission(path, gold, tuple(labels), options.split)
        except DataError as error:
            broken.append((name, printable(str(error), 300)))
    board = make_board(submissions, labels, options.split, broken)
    say("\n\n".join(markdown_tables(board)))
    if options.csv:
        write_text(options.csv, board_csv(board))
    if options.html:
        write_text(options.html, _page(board, options.folder))
    return board


def read_submission(path: Path, gold: Gold, tasks: tuple[str, ...], split: str) -> Predictions:
    """Return the predictions (N,) of each task in a folder or zip.

    Raises:
        DataError: the first fault of what counts.
    """
    checked = [check(one, gold) for one in open_submission(path) if is_predictions(one)]
    found, faults = one_per_task(checked, [(task, split) for task in tasks], path.name)
    # A file of the right task under a wrong name explains what is missing.
    unnamed = [one.faults[0] for one in checked if one.faults and one.split in (None, split)]
    if faults:
        raise DataError((unnamed + faults)[0])
    return {task: labelled(sound(one), gold)[0] for (task, _), one in found.items()}


def _labels(gold: Gold, task: str, split: str) -> np.ndarray:
    expected = gold.expected(task, split)
    if expected is None or expected.labels is None:
        raise DataError(
            f"{gold.folder}: no labels of {task} {split}; give the folder that has them (--gold), "
            "another --split, or --tasks without it"
        )
    return expected.labels


def _submissions(folder: Path) -> list[Path]:
    """Return the folders and zips in a folder, in order of names."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give the one with the submissions")
    found = [
        path
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".") and (path.is_dir() or path.suffix.lower() == ".zip")
    ]
    if not found:
        raise DataError(f"{folder}: no submission in it; expected folders and zips")
    return found


def markdown_tables(board: Board) -> list[str]:
    """Return the ranking, the tests between neighbours and the broken ones, as Markdown."""
    metrics = [f"{task} {main_metric(task)}" for task in board.tasks]
    header = ["rank", "submission", "aggregate", "95 %", *metrics]
    found = []
    if board.places:
        found.append(markdown(header, [_row(place) for place in board.places]))
    if board.ahead:
        escaped = [replace(one, a=_escaped(one.a), b=_escaped(one.b)) for one in board.ahead]
        found.append("\n".join(f"- {sentence(one)}" for one in escaped))
    tests = [
        [_escaped(one.a), _escaped(one.b), f"{task} {one.metric}", *_tested(one)]
        for task, versus in board.by_task.items()
        for one in versus
    ]
    if tests:
        header = ["a", "b", "metric", "a minus b", "95 %", "test", "p", "p (Holm)"]
        found.append(markdown(header, tests))
    if board.broken:
        rows = [[_escaped(word) for word in one] for one in board.broken]
        found.append(markdown(["broken", "first fault"], rows))
    return found


def _row(place: Place) -> list[str]:
    """Return a row of the ranking."""
    scores = [
        f"{_number(one.mean)} {shown(one.interval)}".rstrip() for one in place.estimates.values()
    ]
    rank = "-" if place.rank is None else str(place.rank)
    return [rank, _escaped(place.name), _number(place.value), shown(place.interval), *scores]


def _tested(one: Comparison) -> list[str]:
    difference = "undefined" if one.difference is None else f"{one.difference:+.3f}"
    return [difference, shown(one.interval), one.test, p_shown(one.p), p_shown(one.p_holm)]


def p_shown(p: float | None) -> str:
    """Return a p value with four digits; none of them is nought."""
    if p is None:
        return "-"
    return f"< {LEAST_SHOWN}" if p < LEAST_SHOWN else f"{p:.4f}"


def board_csv(board: Board) -> str:
    """Return the ranking as CSV, broken submissions below it; names cannot be formulas."""
    header = ["rank", "submission", "aggregate", "low", "high"]
    for task in board.tasks:
        header += [f"{task} {main_metric(task)}", f"{task} low", f"{task} high"]
    header += ["difference to the next", "p", "p (Holm)", "fault"]
    rows: list[list[object]] = []
    for place, versus in zip(board.places, [*board.ahead, None], strict=False):
        row: list[object] = [place.rank, place.name, place.value, *_ends(place.interval)]
        for one in place.estimates.values():
            row += [one.mean, *_ends(one.interval)]
        row += [versus.difference, versus.p, versus.p_holm] if versus else [None] * 3
        rows.append([*row, None])
    filling = [None] * (len(header) - 3)
    rows += [[None, name, *filling, fault] for name, fault in board.broken]
    return csv_text(header, rows)


def _ends(interval: object) -> list[object]:
    return [getattr(interval, "low", None), getattr(interval, "high", None)]


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _escaped(text: str) -> str:
    """Return a stranger's words as Markdown that shows them and nothing else."""
    return MARKUP.sub(r"\\\1", text)


def _page(board: Board, folder: Path) -> str:
    try:
        from assignment.submission.board_page import render
    except ModuleNotFoundError as error:
        install = "python -m pip install -r requirements.txt"
        raise UserError(f"a page needs {error.name}, which is not installed; {install}") from None

    return render(board, folder.resolve().name)
