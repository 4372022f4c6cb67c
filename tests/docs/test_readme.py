"""The pages are true: commands parse, flags and files exist, tables are the recorded runs."""

import csv
import json
import re
import shlex
import statistics
import subprocess
from pathlib import Path

import pytest

from evaluation.options import EvaluationOptions
from experiment.settings import Settings, parse_options
from minbert.pretraining.options import PretrainOptions
from runtime import options
from runtime.options import build_parser, parse

ROOT = Path(__file__).parents[2]
NAMES = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split()
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in NAMES
    if not name.startswith("assignment/")
}
README, RESULTS = PAGES["README.md"], PAGES["docs/results.md"]
MAIN = {"sst": "accuracy", "para": "accuracy", "sts": "pearson"}


def commands(page: str) -> list[str]:
    """Return the lines of a page's shell blocks, continued lines joined."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", page, re.DOTALL)).replace("\\\n", " ")
    return [line.strip() for line in blocks.splitlines() if line.strip()]


def recorded(name: str) -> list[dict[str, str]]:
    """Return the cells of a recorded run; of the synthetic data the rows of test."""
    with (ROOT / "docs" / "results" / f"{name}.csv").open() as file:
        cells = list(csv.DictReader(file))
    synthetic = name.startswith("bundled") or name == "cross-strong"
    return [cell for cell in cells if not synthetic or cell["split"] == "test"]


def table(page: str, mark: str) -> tuple[list[str], list[list[str]]]:
    """Return header and body of the table behind a mark."""
    lines = page.split(f"<!-- {mark} -->")[1].split("\n\n")[0].strip().splitlines()
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines]
    return rows[0], rows[2:]


@pytest.mark.parametrize("name", PAGES)
def test_every_run_command_parses(name):
    runs = [line for line in commands(PAGES[name]) if "run_multitask.py" in line]
    assert name != "README.md" or len(runs) >= 3
    for line in runs:
        words = shlex.split(line, comments=True)
        assert parse_options(words[words.index("run_multitask.py") + 1 :])


def test_every_pretraining_command_parses():
    lines = [line for page in PAGES.values() for line in commands(page)]
    runs = [line for line in lines if "-m minbert.pretrain " in line and "$" not in line]
    assert runs
    for line in runs:
        assert parse(PretrainOptions, shlex.split(line, comments=True)[3:])


@pytest.mark.parametrize("name", PAGES)
def test_every_evaluation_command_parses(name):
    for line in commands(PAGES[name]):
        if "-m evaluation " in line:
            words = shlex.split(line, comments=True)
            assert parse(EvaluationOptions, words[words.index("evaluation") + 1 :])


def test_every_module_that_is_run_exists():
    modules = {m for page in PAGES.values() for m in re.findall(r"python -m ([\w.]+)", page)}
    for module in modules - {"venv", "pytest"}:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_every_flag_of_the_readme_exists():
    mentioned = set(re.findall(r"`(--[a-z-]+)", README + PAGES["docs/evaluation.md"]))
    parsers = (
        build_parser(Settings),
        *map(options.build_parser, (PretrainOptions, EvaluationOptions)),
    )
    actions = [action for parser in parsers for action in parser._actions]
    known = {flag for action in actions for flag in action.option_strings}
    assert mentioned <= known, mentioned - known


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_a_page_names_exists(name):
    packages = "|".join(
        "runtime data minbert simcse heads baselines evaluation report experiment benchmarks docs "
        "tests".split()
    )
    named = re.findall(rf"`((?:{packages})/[\w/.-]*\w)`", PAGES[name])
    own = [found for found in named if name != "CHANGELOG.md" and not found.endswith(".work")]
    for found in own:
        assert (ROOT / found).exists(), found


@pytest.mark.parametrize("name", ["bundled-mini", "cross-strong", "frozen", "concat", "full"])
def test_full_tables_are_the_recorded_results(name):
    cells = recorded(name)
    header, body = table(RESULTS, f"table: {name}")
    assert len(body) == len(cells)
    for row in body:
        shown = dict(zip(header, row, strict=True))
        keys = [key for key in ("task", "pretrain", "encoder", "tune") if key in shown]
        (cell,) = [c for c in cells if all(c[key] == shown[key] for key in keys)]
        assert shown["n"] == cell["n"]
        for column, metric in [("cosine", "cosine_spearman"), *((m, m) for m in METRICS)]:
            if column in shown:
                value = cell[metric]
                assert shown[column] == (f"{float(value):.3f}" if value else "-"), row


METRICS = ("accuracy", "f1", "pearson", "spearman")


@pytest.mark.parametrize("name", ["bundled-mini"])
def test_compact_tables_are_the_recorded_results(name):
    cells = recorded(name)
    header, body = table(README, f"compact: {name}")
    assert [row[0] for row in body] == ["none", "unsup", "sup"]
    for pretrain_name, *values in body:
        for column, shown in zip(header[1:], values, strict=True):
            task, _, encoder = column.partition(", ")
            metric = "cosine_spearman" if encoder == "cosine" else MAIN[task]
            wanted = (pretrain_name, task, "bi" if encoder == "cosine" else encoder)
            (cell,) = [c for c in cells if (c["pretrain"], c["task"], c["encoder"]) == wanted]
            assert shown == f"{float(cell[metric]):.3f}", (pretrain_name, column)


def test_the_speed_table_is_the_recorded_run():
    page = PAGES["docs/performance.md"]
    _, rows = table(page, "table: benchmarks")
    report = json.loads((ROOT / "docs" / "results" / "benchmarks.json").read_text())
    assert report["machine"]["processor"].split()[0] in page
    recorded_sides = {(f["work"], f["side"]): f for f in report["figures"]}
    assert len(rows) >= 30
    for work, side, rate, ratio, share, quality in rows:
        figure = recorded_sides[work, side]
        peak = figure["peak_share"]
        assert rate == f"{figure['rate']:,.1f} {figure['unit']}"
        assert ratio == f"{figure['ratio']:.2f}"
        assert share == ("-" if peak is None else f"{peak:.0%}")
        assert quality == (figure["quality"] or "-")


def spread(values: list[float]) -> str:
    """Return a mean, and its standard deviation if there are several values."""
    mean = f"{statistics.mean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.3f}"


@pytest.mark.parametrize("name", re.findall(r"<!-- ablation: (\S+) -->", RESULTS))
def test_tables_of_papers_are_the_recorded_results(name):
    header, body = table(RESULTS, f"ablation: {name}")
    with (ROOT / "docs" / "results" / f"{name}.csv").open() as file:
        measured = list(csv.DictReader(file))
    assert [row[0] for row in body] == list(dict.fromkeys(row["row"] for row in measured))
    for label, *shown in body:
        own = [row for row in measured if row["row"] == label]
        for column, value in zip(header[1:-1], shown[:-1], strict=True):
            assert value == spread([float(row[column]) for row in own]), (label, column)
        assert shown[-1] == (own[0]["published"] or "-")


def test_the_versions_agree():
    from minbert import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert PAGES["CHANGELOG.md"].split("## ")[1].startswith(__version__)
