"""The tables of docs/evaluation.md are those of the recorded runs, as the command prints them."""

import csv
import re
from pathlib import Path

import pytest

from evaluation.suites import SUITES, Result, shown_table

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
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


def test_the_page_shows_every_suite():
    assert {suite for _, suite, _ in MARKS} == set(SUITES)


@pytest.mark.parametrize(("name", "suite", "number"), MARKS)
def test_a_table_is_the_recorded_run(name, suite, number):
    after = PAGE.split(f"<!-- evaluation: {name} {suite} {number} -->\n")[1]
    shown = shown_table(recorded(name, suite), SUITES[suite].shown[int(number)])
    table = shown.split("\n\n")[1]
    assert after.startswith(table), f"{name}: {suite} {number}"


def test_the_readmes_averages_are_the_recorded_runs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    header, _, row = readme.split("average of four):\n\n")[1].splitlines()[:3]
    short = {"BERT-flow": "first-last, flow", "whitening": "first-last, whitening"}
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (header, row)]
    results = [
        r
        for r in recorded("evaluation-published", "sts")
        if (r.part, r.metric) == ("all", "spearman")
        and r.set in ("STS12", "STS13", "STS14", "STSBenchmark")
    ]
    for name, shown in zip(*cells, strict=True):
        first, _, rest = name.partition(", ")
        model = f"{first}, {short.get(rest, rest)}" if rest else first
        own = [r for r in results if r.model == model]
        assert shown.split()[0] == f"{100 * sum(r.value for r in own) / 4:.1f}", name
        if "unseen" in shown:
            assert f"({100 * sum(r.unseen for r in own) / 4:.1f} on" in shown
