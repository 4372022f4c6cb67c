"""A measured table as one HTML file that opens without a network. Reads: figure, telling."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiment.ablate.figure import STYLE, figures
from experiment.ablate.judging import FAILS, Judged
from experiment.ablate.measuring import Measured
from experiment.ablate.table import Table
from experiment.ablate.telling import Study, by_row, claim_of, json_of, mean_and_deviation
from report.page import tables

HERE = Path(__file__).parent / "templates"


def render(
    table: Table,
    measured: Sequence[Measured],
    judged: Sequence[Judged],
    failed: dict[str, str],
    studies: Sequence[Study] = (),
) -> str:
    """Return the page of a table, one HTML document that refers to nothing outside."""
    environment = Environment(
        loader=FileSystemLoader([HERE, STYLE.parent]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("ablation.html.j2").render(
        table_of=table,
        seeds=len({one.seed for one in measured}),
        numbers=numbers_table(table, measured),
        judged=judged_table(judged),
        studies=[study_table(study) for study in studies],
        figures=figures(table, measured),
        commands=commands(table, measured),
        failed=failed,
        data=json_of(table, measured, judged, failed, studies),
        style=STYLE.read_text(encoding="utf-8"),
        script=(STYLE.parent / "page.js").read_text(encoding="utf-8"),
    )


def numbers_table(table: Table, measured: Sequence[Measured]) -> tables.Table:
    """Return what was measured beside what was published."""
    lines = []
    for label, own in by_row(table, measured).items():
        values = [_entry([one.values[column] for one in own]) for column in table.columns]
        lines.append([tables.word(label), *values, tables.number(table.published[label], 1)])
    return tables.Table(table.title, ("row", *table.columns, "published"), lines)


def _entry(values: Sequence[float | None]) -> tables.Entry:
    if (found := mean_and_deviation(values)) is None:
        return tables.word(None)
    spread = "" if found[1] is None else f"± {found[1]:.3f}"
    return tables.number(found[0], note=spread)


def judged_table(judged: Sequence[Judged]) -> tables.Table:
    """Return every expectation with its verdict."""
    lines = []
    for one in judged:
        claim = tables.Entry(claim_of(one.expected), note=one.expected.why)
        verdict = tables.Entry(one.verdict, strong=one.verdict == FAILS)
        note = tables.interval(one.interval)
        lines.append([claim, verdict, tables.number(one.difference, 3, note, sign=True)])
    return tables.Table("What the paper found, here", ("claim", "verdict", "difference"), lines)


def study_table(study: Study) -> tables.Table:
    """Return the means of a study."""
    lines = [[tables.word(label), *map(tables.number, values)] for label, values in study.lines]
    return tables.Table(study.title, study.header, lines)


def commands(table: Table, measured: Sequence[Measured]) -> list[tuple[str, str]]:
    """Return each row's command, of its first seed."""
    return [
        (label, own[0].made["command"]) for label, own in by_row(table, measured).items() if own
    ]
