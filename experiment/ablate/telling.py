"""A measured table in words: as printed, as CSV and as JSON. Feeds: the command, page."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any

from evaluation.table import csv_text, markdown
from experiment.ablate.judging import Judged
from experiment.ablate.measuring import Measured
from experiment.ablate.table import ALIKE, TUNING, Expectation, Table
from report.run_folder import provenance

NOWHERE = "-"


@dataclass(frozen=True)
class Study:
    """A measured study.

    Attributes:
        name: its key in NAME.json.
        title: of its table.
        header: the columns of its table.
        lines: an encoder's name, and means over the seeds; None where one is undefined.
        records: all that was measured, one per encoder and seed (and task).
    """

    name: str
    title: str
    header: tuple[str, ...]
    lines: list[tuple[str, list[float | None]]]
    records: list[dict[str, Any]]

    def printed(self) -> str:
        """Return the table as Markdown, with its title."""
        rows = [
            [label, *(NOWHERE if value is None else f"{value:.3f}" for value in values)]
            for label, values in self.lines
        ]
        return f"{self.title}\n{markdown(self.header, rows)}"


def by_row(table: Table, measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Return the measurements of each row, in the table's order."""
    found: dict[str, list[Measured]] = {row.label: [] for row in table.rows}
    for one in measured:
        found[one.row].append(one)
    return found


def mean_and_deviation(values: Sequence[float | None]) -> tuple[float, float | None] | None:
    """Return mean and standard deviation (None of one number); None where a value is undefined."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return mean(known), stdev(known) if len(known) > 1 else None


def shown(values: Sequence[float | None], digits: int = 3) -> str:
    """Return `0.812 ± 0.004`, a dash where there is nothing."""
    if (found := mean_and_deviation(values)) is None:
        return NOWHERE
    spread = "" if found[1] is None else f" ± {found[1]:.{digits}f}"
    return f"{found[0]:.{digits}f}{spread}"


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
    studies: Sequence[Study] = (),
) -> dict[str, Any]:
    """Return all of a measured table, as NAME.json has it."""
    return {
        "table": asdict(table),
        "measured": [asdict(one) for one in measured],
        "judged": [asdict(one) for one in judged],
        "failed": failed,
        **{study.name: study.records for study in studies},
        **provenance(),
    }
