"""The tables of evaluations on the pages are those of recorded runs, as the command prints them."""

import csv
import re
from pathlib import Path

import pytest

from evaluation.suites import SUITES, Result, shown_table

ROOT = Path(__file__).parents[2]
PAGE = "".join(
    (ROOT / page).read_text(encoding="utf-8")
    for page in ("docs/evaluation.md", "minbert/mini_sts/README.md")
)
MARKS = re.findall(r"<!-- evaluation: (\S+) (\w+) (\d) -->", PAGE)


def recorded(name: str, suite: str) -> list[Result]:
    with (ROOT / "docs" / "results" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["suite"] == suite]
    return [
        Result(
            *(row[column] for column in ("model", "suite", "set", "part", "metric")),
            float(row["value"]) if row["value"] else None,
            int(row["n"]),
            float(row["seen"]),
            float(row["unseen"]) if row["unseen"] else None,
        )
        for row in rows
    ]


@pytest.mark.parametrize(("name", "suite", "number"), MARKS)
def test_a_table_is_the_recorded_run(name, suite, number):
    after = PAGE.split(f"<!-- evaluation: {name} {suite} {number} -->\n")[1]
    shown = shown_table(recorded(name, suite), SUITES[suite].shown[int(number)])
    table = shown.split("\n\n")[1]
    assert after.startswith(table), f"{name}: {suite} {number}"
