"""Points that people give: `hand.csv` beside the marks, a row for each submission.

`grade` writes the file with empty cells. Whoever has filled them in grades again: the submissions
keep their marks, and the points count.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assignment.marks import Mark, open_parts
from data.table import Column, open_table
from evaluation.table import csv_text
from runtime.errors import UserError
from runtime.files import write_text
from runtime.streams import printable

NAME, COMMENT = "submission", "comment"


def with_hand(marks: Sequence[Mark], about: dict[str, Any], path: Path) -> list[Mark]:
    """Return marks with the points in a file, and add a row to it for each new submission.

    Raises:
        UserError: points are no number, or more than the part has.
    """
    parts = open_parts(about)
    if not parts:
        return [*marks]
    given = _read(path, parts) if path.is_file() else {}
    rows = {printable(mark.name): ["" for _ in (*parts, COMMENT)] for mark in marks}
    if rows.keys() - given.keys():
        known = {name: [*map(_shown, hand.values()), note] for name, (hand, note) in given.items()}
        table = [[name, *row] for name, row in (rows | known).items()]
        write_text(path, csv_text([NAME, *parts, COMMENT], table))
    return [_marked(mark, *given.get(printable(mark.name), ({}, ""))) for mark in marks]


def _marked(mark: Mark, hand: dict[str, float | None], comment: str) -> Mark:
    points = {part: value for part, value in hand.items() if value is not None}
    return replace(mark, hand=points, comment=comment)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _read(path: Path, parts: dict[str, float]) -> dict[str, tuple[dict[str, float | None], str]]:
    """Return submission -> the points by part, None where the cell is empty, and the comment."""
    columns = [Column(NAME), *(Column(part, kind="other") for part in parts)]
    table = open_table(path, [*columns, Column(COMMENT, required=False)])
    found = {}
    for line, row in table.rows():
        hand: dict[str, float | None] = {}
        for part, most in parts.items():
            text = row[part].strip().replace(",", ".")  # as spreadsheets of many countries write
            try:
                points = float(text or "nan")
            except ValueError:
                points = -1.0
            if not (0 <= points <= most or not text):
                raise UserError(
                    f"{path}:{line}: {part!r} is {row[part]!r}; expected points from 0 to {most:g}"
                )
            hand[part] = points if text else None
        found[row[NAME].removeprefix("'")] = hand, row.get(COMMENT, "")
    return found
