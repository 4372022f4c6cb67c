"""A measured table held against what the paper found, and told: printed, as CSV and figure.

The rule: the differences of two rows, seed by seed, have a mean; Student's t over the seeds gives
its 95 % interval. An ordering holds if the interval lies on its side of 0, does not hold if it lies
on the other, and else is undecided. Two rows are alike if the interval lies within the margin of 0,
unlike if outside. Rows are scored on the same pairs, and the rule speaks of these pairs: it takes
the seeds for what varies. With one seed everything is undecided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import numpy as np

from evaluation.intervals import Interval, over_seeds
from evaluation.table import csv_text, markdown
from experiment.ablate.measuring import Measured
from experiment.ablate.table import ALIKE, LESS, TUNING, Expectation, Table
from report.page import charts
from report.page.figure import in_light_colours

NOWHERE = "-"
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


def by_row(table: Table, measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Return the measurements of each row, in the table's order."""
    found: dict[str, list[Measured]] = {row.label: [] for row in table.rows}
    for one in measured:
        found[one.row].append(one)
    return found


def shown(values: Sequence[float | None]) -> str:
    """Return `0.812 ± 0.004`, without a deviation of one number; a dash where one is undefined."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return NOWHERE
    spread = f" ± {stdev(known):.3f}" if len(known) > 1 else ""
    return f"{mean(known):.3f}{spread}"


def printed(table: Table, measured: Sequence[Measured]) -> str:
    """Return a table beside the published one, and the verdict on every expectation."""
    published = {row.label: row.published for row in table.rows}
    lines = []
    for label, own in by_row(table, measured).items():
        values = [shown([one.values[column] for one in own]) for column in table.columns]
        told = published[label]
        lines.append([label, *values, NOWHERE if told is None else f"{told:g}"])
    seeds = len({one.seed for one in measured})
    head = f"{table.name}: {table.title} ({seeds} seed{'s' if seeds != 1 else ''})"
    note = f"published: {table.source}; {table.published_on}."
    text = markdown(("row", *table.columns, "published"), lines)
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


def csv_of(table: Table, measured: Sequence[Measured]) -> str:
    """Return one line per row and seed."""
    published = {row.label: row.published for row in table.rows}
    header = ("table", "row", "seed", *table.columns, "published", "seconds", "command")
    lines = [
        [
            *(table.name, one.row, one.seed, *(one.values[column] for column in table.columns)),
            *(published[one.row], round(one.seconds, 1), one.command),
        ]
        for own in by_row(table, measured).values()
        for one in own
    ]
    return csv_text(header, lines)


def trajectory(table: Table, measured: Sequence[Measured]) -> str:
    """Return the way of each row's first seed during tuning, SimCSE's figure 2, as an .svg file."""
    ways = [
        (charts.look_of(k, label), [own[0].history])
        for k, (label, own) in enumerate(by_row(table, measured).items())
        if own
    ]
    (figure,) = charts.trajectory(ways)
    return in_light_colours(figure.svg)
