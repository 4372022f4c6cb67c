"""The pages are true: commands parse, flags and files exist, tables are the recorded runs."""

import csv
import json
import re
import shlex
import statistics
from pathlib import Path

import pytest

from evaluation.options import EvaluationOptions
from experiment.settings import Settings, parse_options
from minbert.pretraining.options import PretrainOptions
from runtime import options
from runtime.options import build_parser, parse

ROOT = Path(__file__).parents[2]
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/results.md", "docs/equations.md"),
        *("docs/architecture.md", "docs/performance.md", "docs/evaluation.md", "docs/interop.md"),
        *("minbert/mini/README.md", "data/bundled/README.md", "docs/reliability.md"),
        "docs/scale.md",
    )
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
    assert name != "README.md" or len(runs) >= 4
    for line in runs:
        words = shlex.split(line, comments=True)
        assert parse_options(words[words.index("run_multitask.py") + 1 :])


def test_every_pretraining_command_parses():
    lines = [line for page in PAGES.values() for line in commands(page)]
    lines += re.findall(r"`(python -m minbert\.pretrain [^`]+)`", README)
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


def test_the_table_of_cross_encoders_is_the_recorded_results():
    cells = recorded("cross-recipe")
    _, body = table(RESULTS, "table: cross-recipe")
    assert [row[0] for row in body] == list(dict.fromkeys(cell["variant"] for cell in cells))
    for variant, *shown, seconds in body:
        own = {(c["task"], c["split"]): c for c in cells if c["variant"] == variant}
        places = [(task, split) for task in ("para", "sts") for split in ("dev", "test")]
        assert shown == [f"{float(own[place][MAIN[place[0]]]):.3f}" for place in places]
        taken = sum(float(own[task, "test"]["seconds"]) for task in ("para", "sts"))
        assert seconds == f"{taken:.0f}"


def test_the_table_of_distilling_is_the_recorded_results():
    cells = [cell for cell in recorded("distill") if cell["split"] == "test"]
    header, body = table(RESULTS, "table: distill")
    for task, *shown in body:
        for encoder, told in zip(header[1:], shown, strict=True):
            own = [c for c in cells if (c["task"], c["encoder"]) == (task, encoder)]
            values = [float(cell[MAIN[task]]) for cell in own]
            assert len(values) == 3
            assert told == f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


METRICS = ("accuracy", "f1", "pearson", "spearman")


@pytest.mark.parametrize("name", ["bundled-mini", "frozen"])
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
    header, rows = table(page, "table: benchmarks")
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
            *([figure["quality"] or "-"] if "quality" in header else []),
        ]


def test_the_readmes_speeds_are_those_of_the_recorded_run():
    report = json.loads((ROOT / "docs" / "results" / "benchmarks.json").read_text())
    _, rows = table(README, "table: speeds")
    assert len(rows) == 6
    for work, default, best, share in rows:
        sides = [figure for figure in report["figures"] if figure["work"] == work]
        peers = [figure for figure in sides if not figure["side"].startswith("minbert")]
        assert default == f"{peers[0]['ratio']:.1f}"
        assert best == f"{min(figure['ratio'] for figure in peers[1:]):.1f}"
        peak = sides[0]["peak_share"]
        assert share == ("-" if peak is None else f"{peak:.0%}")


def test_the_versions_agree():
    from minbert import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert PAGES["CHANGELOG.md"].split("## ")[1].startswith(__version__)
