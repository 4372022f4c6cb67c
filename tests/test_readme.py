"""The README is true: its commands exist, its flags exist, its tables are the recorded results."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from report.options import build_parser, parse_options

from minbert import pretrain_options

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```bash\n(.*?)```", README, re.DOTALL)).replace("\\\n", " ")
COMMANDS = [line.strip() for line in BLOCKS.splitlines() if line.strip()]


def test_every_run_command_parses():
    runs = [line for line in COMMANDS if "run_multitask.py" in line]
    assert len(runs) >= 4
    for line in runs:
        words = shlex.split(line, comments=True)
        assert parse_options(words[words.index("run_multitask.py") + 1 :])


def test_every_pretraining_command_parses():
    runs = [line.split()[3:] for line in COMMANDS if "-m minbert.pretrain" in line]
    assert len(runs) >= 2 and all(pretrain_options.parse_options(words, None) for words in runs)


def test_every_module_that_is_run_exists():
    modules = set(re.findall(r"python -m ([\w.]+)", BLOCKS)) - {"venv", "pytest"}
    assert modules
    for module in modules:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_every_flag_is_in_the_readme_or_the_help():
    mentioned = set(re.findall(r"`(--[a-z-]+)", README))
    parsers = (build_parser(), pretrain_options.build_parser())
    actions = [action for parser in parsers for action in parser._actions]
    known = {flag for action in actions for flag in action.option_strings}
    assert mentioned <= known, mentioned - known


def test_every_file_that_the_readme_names_exists():
    named = re.findall(
        r"`((?:minbert|simcse|heads|data|evaluation|report|docs)/[\w/.]*\w)`", README
    )
    assert len(named) > 10
    for name in named:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("name", ["bundled-mini", "frozen", "concat", "full"])
def test_tables_are_the_recorded_results(name):
    with (ROOT / "docs" / "results" / f"{name}.csv").open() as file:
        cells = list(csv.DictReader(file))
    if name == "bundled-mini":  # both labelled splits were scored; the README shows one
        cells = [cell for cell in cells if cell["split"] == "test"]
    table = README.split(f"<!-- table: {name} -->")[1].split("\n\n")[0]
    rows = [
        [cell.strip(" *") for cell in row.split("|")[1:-1]] for row in table.strip().splitlines()
    ]
    header, body = rows[0], rows[2:]
    assert len(body) == len(cells)
    for row in body:
        shown = dict(zip(header, row, strict=True))
        keys = ("task", "pretrain", "encoder")
        (cell,) = [c for c in cells if all(c[key] == shown[key] for key in keys)]
        for metric in ("accuracy", "f1", "pearson", "spearman", "n"):
            value = cell[metric]
            if metric == "n":
                assert shown["n"] == value
            else:
                assert shown[metric] == (f"{float(value):.3f}" if value else "-"), (name, row)
        if "cosine" in shown:
            bare = cell["cosine_spearman"]
            assert shown["cosine"] == (f"{float(bare):.3f}" if bare else "-"), row


def test_the_speed_table_is_the_recorded_run():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    table = page.split("<!-- table: benchmarks -->")[1].split("\n\n")[0]
    rows = [[x.strip() for x in row.split("|")[1:-1]] for row in table.strip().splitlines()[2:]]
    report = json.loads((ROOT / "docs" / "results" / "benchmarks.json").read_text())
    assert report["machine"]["processor"].split()[0] in page
    for row, figure in zip(rows, report["figures"], strict=True):
        share, memory = figure["peak_share"], figure["memory_mib"] or 0
        assert row == [
            figure["work"],
            figure["side"],
            f"{figure['seconds']:.3f}",
            f"{figure['rate']:,.1f} {figure['unit']}",
            f"{figure['ratio']:.2f}",
            "-" if share is None else f"{share:.0%}",
            "-" if memory < 1 else f"{memory:.0f}",
        ]


def test_the_speeds_are_those_of_the_recorded_run():
    report = json.loads((ROOT / "docs" / "results" / "benchmarks.json").read_text())
    table = README.split("<!-- table: speeds -->")[1].split("\n\n")[0].strip().splitlines()
    assert len(table) == 2 + 6
    for line in table[2:]:
        work, default, best, share = (x.strip() for x in line.split("|")[1:-1])
        sides = [figure for figure in report["figures"] if figure["work"] == work]
        peers = [figure for figure in sides if not figure["side"].startswith("minbert")]
        assert default == f"{peers[0]['ratio']:.1f}"
        assert best == f"{min(figure['ratio'] for figure in peers[1:]):.1f}"
        peak = sides[0]["peak_share"]
        assert share == ("-" if peak is None else f"{peak:.0%}")
