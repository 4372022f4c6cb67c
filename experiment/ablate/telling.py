"""A measured table held against what the paper found, and told: printed, as CSV and figure.

The rule: the differences of two rows, seed by seed, have a mean; Student's t over the seeds gives
its 95 % interval. An ordering holds if the interval lies on its side of 0, does not hold if it lies
on the other, and else is undecided. Two rows are alike if the interval lies within the margin of 0,
unlike if outside. Rows are scored on the same pairs, and the rule speaks of these pairs: it takes
the seeds for what varies. With one seed everything is undecided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.intervals import Interval, over_seeds
from evaluation.table import csv_text, markdown
from experiment.ablate.measuring import Measured
from experiment.ablate.table import ALIKE, LESS, TUNING, Expectation, Table
from experiment.pages import beside_published
from report.page import charts
from report.page.figure import in_light_colours

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
UNMEASURED = "not measured"


@dataclass(frozen=True)
class Judged:
    """An expectation and what became of it.

    Attributes:
        verdict: one of the four words above.
        difference: mean over the seeds of `row` minus `other`; None if there is none.
        interval: of that mean, 95 %; None of less than two seeds.
        seeds: how many both rows have.
    """

    expected: Expectation
    verdict: str
    difference: float | None = None
    interval: Interval | None = None
    seeds: int = 0


def judge(table: Table, measured: Sequence[Measured]) -> list[Judged]:
    """Return every expectation of a table with its verdict."""
    found: dict[str, dict[int, Measured]] = {}
    for one in measured:
        found.setdefault(one.row, {})[one.seed] = one
    return [_judged(one, found) for one in table.expected]


def _judged(expected: Expectation, found: Mapping[str, Mapping[int, Measured]]) -> Judged:
    row, other = found.get(expected.row, {}), found.get(expected.other, {})
    pairs = [(row[s].values[expected.of], other[s].values[expected.of]) for s in row if s in other]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known or len(known) < len(pairs):
        return Judged(expected, UNMEASURED, seeds=len(known))
    differences = np.array([a - b for a, b in known])
    mean = float(differences.mean())
    if len(known) < 2:
        return Judged(expected, UNDECIDED, mean, seeds=len(known))
    # Of the rows no error: they are the same for both. Their number then does not matter.
    interval = over_seeds(differences, 0.0, 2).interval
    return Judged(expected, verdict(expected, interval), mean, interval, len(known))


def verdict(expected: Expectation, interval: Interval) -> str:
    """Return what an interval of the difference says of an expectation."""
    low, high = interval.low, interval.high
    if expected.relation == ALIKE:
        margin = expected.within
        if -margin <= low and high <= margin:
            return HOLDS
        return FAILS if low > margin or high < -margin else UNDECIDED
    if expected.relation == LESS:
        low, high = -high, -low
    return HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED


def rows_of(table: Table, measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return one row per label and seed, as NAME.csv has them."""
    published = {row.label: row.published for row in table.rows}
    return [
        {
            "table": table.name,
            "row": one.row,
            "seed": one.seed,
            **one.values,
            "published": published[one.row],
            "seconds": round(one.seconds, 1),
            "command": one.command,
        }
        for one in measured
    ]


def csv_of(table: Table, measured: Sequence[Measured]) -> str:
    """Return NAME.csv."""
    rows = rows_of(table, measured)
    return csv_text(list(rows[0]), [list(row.values()) for row in rows])


def printed(table: Table, measured: Sequence[Measured]) -> str:
    """Return a table beside the published one, and the verdict on every expectation."""
    header = ("row", *table.columns, "published")
    seeds = len({one.seed for one in measured})
    head = f"{table.name}: {table.title} ({seeds} seed{'s' if seeds != 1 else ''})"
    text = markdown(header, beside_published(header, rows_of(table, measured)))
    note = f"published: {table.source}; {table.published_on}."
    note += " Backbone, data and dev set differ from ours."
    return "\n".join([head, text, note, *map(told_of, judge(table, measured))])


def told_of(judged: Judged) -> str:
    """Return one line on an expectation: `holds: fixed 0.1 < 0.1: -0.031 [...] (why)`."""
    one = judged.expected
    claim = f"{one.row} {one.relation} {one.other}"
    claim += f", within {one.within:g}" if one.relation == ALIKE else ""
    claim = claim if one.of == TUNING[0] else f"{one.of}: {claim}"
    numbers = "" if judged.difference is None else f": {judged.difference:+.3f}"
    if judged.interval is not None:
        numbers += f" [{judged.interval.low:+.3f}, {judged.interval.high:+.3f}]"
    return f"  {judged.verdict}: {claim}{numbers} ({one.why})"


def trajectory(measured: Sequence[Measured]) -> str:
    """Return the way of each row's first seed during tuning, SimCSE's figure 2, as an .svg file."""
    first: dict[str, list[dict[str, Any]]] = {}
    for one in measured:
        first.setdefault(one.row, one.history)
    ways = [(charts.look_of(k, row), [way]) for k, (row, way) in enumerate(first.items())]
    (figure,) = charts.trajectory(ways)
    return in_light_colours(figure.svg)
