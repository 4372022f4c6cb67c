"""The leaderboard as one page that refers to nothing outside, in the look of the run's page.

Reads: board, the templates of report.page. Feeds: leaderboard.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import report.page
from assignment.submission.board import Board
from assignment.submission.leaderboard import p_shown
from assignment.submission.scoring import main_metric
from evaluation.significance import Comparison
from report.page.tables import Entry, Table, interval, number, word
from report.verdict import sentence

OWN = Path(__file__).parent / "templates"
TEMPLATES = Path(report.page.__file__).parent / "templates"


def render(board: Board, name: str) -> str:
    """Return the page of a leaderboard, `name` in its heading; all texts are escaped."""
    environment = Environment(
        loader=FileSystemLoader([OWN, TEMPLATES]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("leaderboard.html.j2").render(
        name=name,
        split=board.split,
        rows=board.rows,
        places=_places(board),
        verdicts=[sentence(one) for one in board.ahead],
        tests=_tests(board),
        broken=_broken(board),
        data=asdict(board),
        style=(TEMPLATES / "style.css").read_text(encoding="utf-8"),
        script=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
    )


def _places(board: Board) -> Table:
    rows = []
    for place in board.places:
        scores = [number(one.mean, 3, interval(one.interval)) for one in place.estimates.values()]
        aggregate = number(place.value, 3, interval(place.interval))
        rows.append([word(place.name), number(place.rank, 0), aggregate, *scores])
    metrics = (f"{task} {main_metric(task)}" for task in board.tasks)
    header = ("submission", "rank", "aggregate", *metrics)
    return Table(f"{board.split}: scores with 95 % intervals", header, rows)


def _tests(board: Board) -> Table:
    header = ("A minus B", "metric", "difference", "p (Holm)", "p", "test")
    families: Sequence[tuple[str, Sequence[Comparison]]] = [
        ("", board.ahead), *board.by_task.items()
    ]  # fmt: skip
    rows = [_test(task, one) for task, versus in families for one in versus]
    return Table("Each place against the next, on the same rows", header, rows)


def _test(task: str, one: Comparison) -> list[Entry]:
    difference = number(one.difference, 3, interval(one.interval), sign=True)
    p_values = [Entry(p_shown(p), p) for p in (one.p_holm, one.p)]
    metric = f"{task} {one.metric}".strip()
    return [word(f"{one.a} − {one.b}"), word(metric), difference, *p_values, word(one.test)]


def _broken(board: Board) -> Table:
    rows = [[word(name), word(fault)] for name, fault in board.broken]
    return Table(
        "Submissions that could not be scored", ("submission", "first fault"), rows, "long"
    )
