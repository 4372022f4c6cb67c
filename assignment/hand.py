"""Points that people give: `hand.csv` next to the marks, a row for each submission.

`grade` writes the file with empty cells, and later only adds rows. Whoever has filled them in
grades again: the submissions keep their marks, and the points count.
"""

import csv
import io
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assignment.marks import Mark, open_parts
from evaluation.table import csv_text
from runtime.errors import UserError
from runtime.files import write_text
from runtime.streams import printable

logger = logging.getLogger("assignment")

NAME, COMMENT = "submission", "comment"
Given = tuple[dict[str, float], str]  # the points by part, where there are some; and the comment


def with_hand(marks: Sequence[Mark], about: dict[str, Any], path: Path) -> list[Mark]:
    """Return marks with the points in a file, and add a row to it for each new submission.

    Raises:
        UserError: the file has other columns, a name twice, or points that are no number or more
            than the part has.
    """
    parts = open_parts(about)
    if not parts:
        return [*marks]
    text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    given = _read(path, text, delimiter, parts) if text else {}
    names = [printable(mark.name) for mark in marks]
    row_of = {name: spelled for name in names for spelled in _spellings(name) if spelled in given}
    if unknown := given.keys() - row_of.values() if marks else []:
        shown = ", ".join(sorted(unknown)[:5])
        logger.warning("%s: %d row(s) of no submission: %s", path, len(unknown), shown)
    if new := [[name, *("" for _ in parts), ""] for name in names if name not in row_of]:
        header, rows = csv_text([NAME, *parts, COMMENT], new, delimiter).split("\n", 1)
        write_text(path, f"{text.rstrip() or header}\n{rows}")
    return [
        replace(mark, hand=hand, comment=comment)
        for mark, name in zip(marks, names, strict=True)
        for hand, comment in [given.get(row_of.get(name, ""), ({}, ""))]
    ]


def _spellings(name: str) -> tuple[str, ...]:
    """Return how a name may stand in the file: last as itself; a formula has "'" in front."""
    return name.strip(), f"'{name}", name


def _read(path: Path, text: str, delimiter: str, parts: dict[str, float]) -> dict[str, Given]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    missing = [name for name in (NAME, *parts) if name not in (reader.fieldnames or ())]
    if missing:
        raise UserError(f"{path}:1: no column {missing[0]!r}; name the columns as grade did")
    given: dict[str, Given] = {}
    for row in reader:
        where = f"{path}:{reader.line_num}"
        if None in row or None in row.values():
            raise UserError(f"{where}: another number of fields; write a comment in quotes")
        if row[NAME] in given:
            raise UserError(f"{where}: {row[NAME]!r} is there twice; delete one of its rows")
        points = {part: _points(where, part, row[part], most) for part, most in parts.items()}
        known = {part: value for part, value in points.items() if value is not None}
        given[row[NAME]] = known, row.get(COMMENT) or ""
    return given


def _points(where: str, part: str, text: str, most: float) -> float | None:
    spelled = text.strip().replace(",", ".")  # as spreadsheets of many countries write
    if not spelled:
        return None
    try:
        points = float(spelled)
    except ValueError:
        points = -1.0
    if not 0 <= points <= most:
        raise UserError(f"{where}: {part!r} is {text!r}; expected points from 0 to {most:g}")
    return points
