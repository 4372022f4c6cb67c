"""A measured table held against what the paper found, and told: printed, as CSV, JSON and figure.

The rule: the differences of two rows, seed by seed, have a mean; Student's t over the seeds gives
its 95 % interval. An ordering holds if the interval lies on its side of 0, does not hold if it lies
on the other, and else is undecided. Two rows are alike if the interval lies within the margin of 0,
unlike if outside. Rows are scored on the same pairs, and the rule speaks of these pairs: it takes
the seeds for what varies. With one seed everything is undecided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np

from evaluation.intervals import Interval, over_seeds
from evaluation.table import csv_text, markdown
from experiment.ablate.measuring import Measured
from experiment.ablate.table import ALIKE, LESS, TUNING, Expectation, Table
from report.page import charts
from report.page.figure import in_light_colours
from report.run_folder import provenance

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
    difference: float | None
    interval: Interval | None
    seeds: int


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
        return Judged(expected, UNMEASURED, None, None, len(known))
    differences = np.array([a - b for a, b in known])
    mean = float(differences.mean())
    if len(known) < 2:
        return Judged(expected, UNDECIDED, mean, None, len(known))
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


def printed(table: Table, measured: Sequence[Measured], judged: Sequence[Judged]) -> str:
    """Return a table beside the published one, and the verdict on every expectation."""
    lines = []
    for label, own in by_row(table, measured).items():
        values = [shown([one.values[column] for one in own]) for column in table.columns]
        told = table.published[label]
        lines.append([label, *values, NOWHERE if told is None else f"{told:g}"])
    seeds = len({one.seed for one in measured})
    head = f"{table.name}: {table.title} ({seeds} seed{'s' if seeds != 1 else ''})"
    note = f"published: {table.source}"
    if table.published_on:
        note += f"; {table.published_on}. Backbone, data and dev set differ from ours"
    text = markdown(("row", *table.columns, "published"), lines)
    return "\n".join([head, text, f"{note}.", *map(told_of, judged)])


def claim_of(expected: Expectation) -> str:
    """Return an expectation as a formula: `fixed 0.1 < 0.1`, `alignment: 0 > 0.1`."""
    claim = f"{expected.row} {expected.relation} {expected.other}"
    if expected.relation == ALIKE:
        claim += f", within {expected.within:g}"
    return claim if expected.of == TUNING[0] else f"{expected.of}: {claim}"


def told_of(judged: Judged) -> str:
    """Return one line on an expectation: `holds: fixed 0.1 < 0.1 (...), -0.031 [...]`."""
    one = judged.expected
    numbers = ""
    if judged.difference is not None:
        numbers = f": {judged.difference:+.3f}"
    if judged.interval is not None:
        numbers += f" [{judged.interval.low:+.3f}, {judged.interval.high:+.3f}]"
    return f"  {judged.verdict}: {claim_of(one)}{numbers} ({one.why})"


def csv_of(table: Table, measured: Sequence[Measured]) -> str:
    """Return one line per row and seed."""
    header = ("table", "row", "seed", *table.columns, "published", "seconds", "steps")
    made = ("precision", "threads", "command")
    lines: list[list[Any]] = []
    for own in by_row(table, measured).values():
        for one in own:
            values = [one.values[column] for column in table.columns]
            about = [table.published[one.row], round(one.seconds, 1), one.made.get("steps")]
            lines.append([table.name, one.row, one.seed, *values, *about])
            lines[-1] += [*(one.made.get(name) for name in made), one.key]
    return csv_text((*header, *made, "key"), lines)


def json_of(
    table: Table,
    measured: Sequence[Measured],
    judged: Sequence[Judged],
    failed: dict[str, str],
) -> dict[str, Any]:
    """Return all of a measured table, as NAME.json has it."""
    return {
        "table": asdict(table),
        "measured": [asdict(one) for one in measured],
        "judged": [asdict(one) for one in judged],
        "failed": failed,
        **provenance(),
    }


def trajectory(table: Table, measured: Sequence[Measured]) -> str:
    """Return the way of each row's first seed during tuning, SimCSE's figure 2, as an .svg file."""
    ways = [
        (charts.look_of(k, label), [own[0].history])
        for k, (label, own) in enumerate(by_row(table, measured).items())
        if own
    ]
    (figure,) = charts.trajectory(ways)
    return in_light_colours(figure.svg)
