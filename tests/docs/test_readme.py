"""The pages are true: commands parse, flags and files exist; tables: test_numbers.py."""

import json
import re
import shlex
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from evaluation.options import EvaluationOptions
from experiment.settings import Settings, parse_options
from minbert.encode.options import EncodeOptions
from runs import sizes
from runs.fill import number
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
README = PAGES["README.md"]


def commands(page: str) -> list[str]:
    """Return the lines of a page's shell blocks, continued lines joined."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", page, re.DOTALL)).replace("\\\n", " ")
    return [line.strip() for line in blocks.splitlines() if line.strip()]


PARSERS = {
    "run_multitask.py": parse_options,
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
    assert found["docs/scale.md", "minbert.encode"] == 4


def test_the_evening_is_short():
    stops = [line for line in PAGES["docs/evening.md"].splitlines() if line.startswith("### ")]
    files = re.findall(r"`([\w/]+\.py)`", "\n".join(stops))
    assert len(files) <= 14 and len(set(files)) == len(files)
    assert sum(sizes.size(name)[0] for name in files) <= 2700
    assert sizes.size("examples/") == (120, 1)


def test_every_package_has_a_size_in_the_architecture():
    page = sizes.filled(PAGES["docs/architecture.md"])
    named = set(re.findall(r"^\| `(\w+)/` \|.*\| [\d,]+ \| \d+ \|$", page, re.MULTILINE))
    tracked = subprocess.run(
        ["git", "ls-files", "*/*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert named == {path.partition("/")[0] for path in tracked} - {"tests"}


def test_every_module_that_is_run_exists():
    # The changelog and the log name what is gone.
    current = [page for name, page in PAGES.items() if name not in ("CHANGELOG.md", "docs/log.md")]
    modules = {m for page in current for m in re.findall(r"python -m ([\w.]+)", page)}
    for module in modules - {"venv", "pytest"}:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_every_flag_of_the_readme_exists():
    mentioned = set(re.findall(r"`(--[a-z-]+)", README + PAGES["docs/evaluation.md"]))
    parsers = map(build_parser, (Settings, EvaluationOptions))
    actions = [action for parser in parsers for action in parser._actions]
    known = {flag for action in actions for flag in action.option_strings}
    assert mentioned <= known, mentioned - known


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"CHANGELOG.md", "docs/log.md"}))
def test_every_file_that_a_page_names_exists(name):
    folders = "runtime data minbert simcse heads baselines evaluation report experiment benchmarks"
    folders = "|".join([*folders.split(), "docs", "tests"])
    for found in re.findall(rf"`((?:{folders})/[\w/.-]*\w)`", PAGES[name]):
        assert found.endswith(".work") or (ROOT / found).exists(), found


def test_the_students_hand_out_shows_the_recorded_cosines():
    hand_out = (ROOT / "assignment" / "tasks" / "simcse.md").read_text(encoding="utf-8")
    for read, name in ((r"\[CLS\]", "bundled-cls"), ("mean of tokens", "bundled-mini")):
        stages = ("none", "unsup", "sup")
        told = [
            number(f"{name}.csv", "cosine", [stage, "mini, sts"]).split()[0] for stage in stages
        ]
        assert re.search(rf"{read} +" + " +".join(told), hand_out), (read, told)


def test_the_speed_page_names_the_machine():
    report = json.loads((ROOT / "docs" / "results" / "benchmarks.json").read_text())
    part = PAGES["docs/performance.md"].partition("\n## With bfloat16\n")[2]
    assert f"an {report['machine']['processor']} (" in part.partition("\n## ")[0]


def test_the_versions_agree():
    from minbert import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    versions = re.findall(r"^## (.*)", PAGES["CHANGELOG.md"], re.MULTILINE)
    released = [version for version in versions if "unreleased" not in version]
    assert released[0].startswith(__version__)
