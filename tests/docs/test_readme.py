"""The pages are true: commands parse, flags and files exist, tables are the recorded runs."""

import csv
import json
import re
import shlex
import statistics
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from campaigns.outcomes import GOOD

from evaluation.options import EvaluationOptions
from experiment.settings import Settings, parse_options
from minbert.encode.options import Options as EncodeOptions
from minbert.pretraining.options import PretrainOptions
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
    synthetic = name.startswith("bundled")
    return [cell for cell in cells if not synthetic or cell["split"] == "test"]


def table(page: str, mark: str) -> tuple[list[str], list[list[str]]]:
    """Return header and body of the table behind a mark."""
    lines = page.split(f"<!-- {mark} -->")[1].split("\n\n")[0].strip().splitlines()
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines]
    return rows[0], rows[2:]


def spread(values: list[float]) -> str:
    """Return a mean, and its standard deviation if there are several values."""
    mean = f"{statistics.mean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.3f}"


PARSERS = {
    "run_multitask.py": parse_options,
    "minbert.pretrain": partial(parse, PretrainOptions),
    "evaluation": partial(parse, EvaluationOptions),
    "minbert.encode": partial(parse, EncodeOptions),
}


def test_every_command_parses():
    found = Counter()
    for name, page in PAGES.items():
        for line in commands(page):
            words = shlex.split(line, comments=True)
            for program in PARSERS.keys() & set(words):
                if "$" not in line:
                    assert PARSERS[program](words[words.index(program) + 1 :])
                    found[name, program] += 1
    assert {program for _, program in found} == PARSERS.keys()
    assert found["README.md", "run_multitask.py"] >= 3
    assert found["docs/scale.md", "minbert.encode"] == 5


def test_every_module_that_is_run_exists():
    modules = {m for page in PAGES.values() for m in re.findall(r"python -m ([\w.]+)", page)}
    for module in modules - {"venv", "pytest"}:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_every_flag_of_the_readme_exists():
    mentioned = set(re.findall(r"`(--[a-z-]+)", README + PAGES["docs/evaluation.md"]))
    parsers = map(build_parser, (Settings, PretrainOptions, EvaluationOptions))
    actions = [action for parser in parsers for action in parser._actions]
    known = {flag for action in actions for flag in action.option_strings}
    assert mentioned <= known, mentioned - known


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"CHANGELOG.md"}))
def test_every_file_that_a_page_names_exists(name):
    folders = "runtime data minbert simcse heads baselines evaluation report experiment benchmarks"
    folders = "|".join([*folders.split(), "docs", "tests"])
    for found in re.findall(rf"`((?:{folders})/[\w/.-]*\w)`", PAGES[name]):
        assert found.endswith(".work") or (ROOT / found).exists(), found


@pytest.mark.parametrize("name", ["bundled-mini", "frozen", "concat"])
def test_full_tables_are_the_recorded_results(name):
    cells = recorded(name)
    header, body = table(RESULTS, f"table: {name}")
    assert len(body) * len({cell["seed"] for cell in cells}) == len(cells)
    for row in body:
        shown = dict(zip(header, row, strict=True))
        keys = [key for key in ("task", "pretrain", "encoder", "tune") if key in shown]
        seeds = [c for c in cells if all(c[key] == shown[key] for key in keys)]
        assert {cell["n"] for cell in seeds} == {shown["n"]}
        for column, metric in [("cosine", "cosine_spearman"), *((m, m) for m in METRICS)]:
            if column in shown:
                values = [float(cell[metric]) for cell in seeds if cell[metric]]
                assert shown[column] == (spread(values) if values else "-"), row


METRICS = ("accuracy", "f1", "pearson", "spearman")


# a row of README's table -> its recorded run, contrastive stage and tuning
COMPACT = {
    "mini": ("bundled-mini", "none", "frozen"),
    "mini + unsup": ("bundled-mini", "unsup", "frozen"),
    "mini + sup": ("bundled-mini", "sup", "frozen"),
    "mini, tuned": ("bundled-curves", "none", "full"),
    "mini-sts": ("bundled-mini-sts", "none", "frozen"),
    "mini-sts, tuned": ("bundled-mini-sts", "none", "full"),
}


def test_the_compact_table_is_the_recorded_runs():
    header, body = table(README, "compact: bundled")
    assert [row[0] for row in body] == list(COMPACT)
    for system, *values in body:
        name, *wanted = COMPACT[system]
        cells = [c for c in recorded(name) if [c["pretrain"], c["tune"]] == wanted]
        cells = [cell for cell in cells if cell["train_rows"] == "all"]
        for column, shown in zip(header[1:], values, strict=True):
            task, _, encoder = column.partition(", ")
            if encoder == "[CLS]":
                assert shown == at_cls(system), system
                continue
            metric = "cosine_spearman" if encoder == "cosine" else MAIN[task]
            kind = "bi" if encoder == "cosine" else encoder
            own = [c[metric] for c in cells if (c["task"], c["encoder"]) == (task, kind)]
            own = [float(value) for value in own if value]
            assert shown == (spread(own) if own else "-"), (system, column)


def at_cls(system: str) -> str:
    """Return a system's cosine at [CLS]; those that were tuned with a head have none."""
    backbone, _, pretrain = system.partition(" + ")
    of = [backbone, pretrain or "none"]
    cells = [c for c in recorded("bundled-cls") if [c["backbone"], c["pretrain"]] == of]
    values = [float(cell["cosine_spearman"]) for cell in cells]
    return spread(values) if values else "-"


@pytest.mark.parametrize("name", ["bundled-curves", "mini-real-curves", "minilm-curves"])
def test_learning_curves_are_the_recorded_runs(name):
    cells = recorded(name)
    header, body = table(RESULTS, f"table: {name}")
    for task, tune, encoder, *values in body:
        kind = [cell for cell in cells if (cell["task"], cell["tune"]) == (task, tune)]
        kind = [cell for cell in kind if cell["encoder"] == encoder]
        for column, shown in zip(header[3:], values, strict=True):
            own = [float(c[MAIN[task]]) for c in kind if c["train_rows"] == column.replace(",", "")]
            assert shown == (spread(own) if own else "-"), (task, tune, encoder, column)


def test_the_table_of_cls_is_the_mean_and_spread_of_five_seeds():
    rows = [cell for cell in recorded("cls-seeds") if cell["split"] == "test"]
    told = []
    for pretrain, cosine, head, *_ in table(RESULTS, "table: cls-seeds")[1]:
        own = [cell for cell in rows if cell["pretrain"] == pretrain]
        assert len(own) == 5
        told.append(cosine.split()[0])
        for shown, metric in ((cosine, "cosine_spearman"), (head, "pearson")):
            assert shown == spread([float(cell[metric]) for cell in own])
    hand_out = (ROOT / "assignment" / "tasks" / "simcse.md").read_text(encoding="utf-8")
    assert re.search(r"\[CLS\] +" + " +".join(told), hand_out)


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


def test_the_table_of_growth_is_the_recorded_run():
    _, rows = table(PAGES["docs/performance.md"], "table: growth")
    figures = json.loads((ROOT / "docs" / "results" / "growth.json").read_text())["figures"]
    for (work, seconds, rate, memory), figure in zip(rows, figures, strict=True):
        assert work == figure["work"]
        assert seconds == f"{figure['seconds']:,.2f}"
        assert rate == f"{figure['rate']:,.1f} {figure['unit']}"
        known = (figure["memory_mib"] or 0) >= 1
        assert memory == (f"{figure['memory_mib']:,.0f}" if known else "-")


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


# Encoder of the table -> embedding size, and the work of the benchmarks.
SIZES = {
    "mini": (256, "encode 100,000 sentences, mini"),
    "MiniLM": (384, "encode, MiniLM"),
    "bert-base shape": (768, "encode, bert-base shape"),
}


def test_what_is_reckoned_for_machines_follows_from_the_recorded_rates():
    texts, machines = 10**9, 64
    figures = json.loads((ROOT / "docs" / "results" / "benchmarks.json").read_text())["figures"]
    _, rows = table(PAGES["docs/scale.md"], "reckoned: machines")
    for encoder, *shown in rows:
        size, work = SIZES[encoder]
        (rate,) = [f["rate"] for f in figures if (f["work"], f["side"]) == (work, "minbert")]
        hours = texts / rate / 3600
        assert shown == [
            f"{rate:,.1f}",
            f"{hours:,.0f} hours",
            f"{hours / machines:.1f} hours",
            f"{texts * size * 4 / 1e12:.2f} TB",
        ]


CAMPAIGNS = ("kill", "inputs", "artefacts", "disk", "environments", "commands", "busy")


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_the_table_of_campaigns_is_what_was_counted(campaign):
    with (ROOT / "docs" / "results" / f"reliability-{campaign}.csv").open() as file:
        counted = [(row["outcome"], int(row["trials"])) for row in csv.DictReader(file)]
    _, rows = table(PAGES["docs/reliability.md"], "table: reliability")
    told = [row for row in rows if row[0].split(",")[0] == campaign]
    trials, good = (
        sum(int(row[column].split(" ")[0].replace(",", "")) for row in told) for column in (2, 3)
    )
    assert trials == sum(count for _, count in counted)
    assert good == sum(count for outcome, count in counted if outcome in GOOD)


def test_the_versions_agree():
    from minbert import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    versions = re.findall(r"^## (.*)", PAGES["CHANGELOG.md"], re.MULTILINE)
    assert next(v for v in versions if "unreleased" not in v).startswith(__version__)
