"""docs/ablations.md shows the recorded measurements, and what the recipes conclude from them."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiment.ablate.measuring import Measured
from experiment.ablate.recipes import TABLES
from experiment.ablate.table import Table
from experiment.ablate.telling import judge, printed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ablations.md").read_text(encoding="utf-8")
# The recorded file, and the table's name.
MARKS = re.findall(r"<!-- ablation: (\S+) (\S+) -->", PAGE)


def recorded(name: str, table: Table) -> list[Measured]:
    path = ROOT / "docs" / "results" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Measured(
                row["row"],
                int(row["seed"]),
                {column: float(row[column]) if row[column] else None for column in table.columns},
                float(row["seconds"]),
                [],
                {"command": row["command"]},
                row["key"],
            )
            for row in csv.DictReader(file)
        ]


def block(name: str, table: Table) -> str:
    """Return a table as the page shows it: what the command prints of the rows measured."""
    measured = recorded(name, table)
    known = {one.row for one in measured}
    rows = tuple(row for row in table.rows if row.label in known)
    expected = tuple(one for one in table.expected if {one.row, one.other} <= known)
    table = replace(table, rows=rows, expected=expected)
    lines = printed(table, measured, judge(table, measured)).splitlines()[1:]
    shown = [line for line in lines if line.startswith("|")]
    verdicts = [f"- {line.strip()}" for line in lines if line.startswith("  ")]
    return "\n".join([*shown, "", *verdicts])


def test_the_page_shows_tables():
    assert len(MARKS) >= 3


@pytest.mark.parametrize(("name", "table"), MARKS)
def test_a_table_is_the_recorded_one(name, table):
    after = PAGE.split(f"<!-- ablation: {name} {table} -->\n")[1]
    assert after.startswith(block(name, TABLES[table]) + "\n"), name


@pytest.mark.parametrize(("name", "table"), MARKS)
def test_every_number_has_the_command_that_gives_it(name, table):
    for one in recorded(name, TABLES[table]):
        assert one.made["command"].startswith("python ")
