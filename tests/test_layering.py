"""Data flows one way: every import of every file points only against the flow."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "data": {"numpy", "tqdm", "data"},
    "minbert": {
        "torch",
        "numpy",
        "tokenizers",
        "safetensors",
        "huggingface_hub",
        "tqdm",
        "minbert",
    },
    "simcse": {"torch", "numpy", "simcse", "data", "minbert"},
    "heads": {"torch", "numpy", "heads", "data", "minbert"},
    "evaluation": {"numpy", "scipy", "sklearn", "evaluation", "data"},
    "report": {"numpy", "report", "evaluation", "data"},
}
FILES = [path for package in ALLOWED for path in (ROOT / package).rglob("*.py")]


def imported(tree: ast.AST) -> set[str]:
    """Return the top-level names that a file imports, at any depth."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            names.add(str(node.module).split(".")[0])
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_against_the_flow(path):
    package = path.relative_to(ROOT).parts[0]
    names = imported(ast.parse(path.read_text(encoding="utf-8")))
    assert names - ALLOWED[package] <= set(sys.stdlib_module_names)


def test_the_rule_would_catch_a_wrong_import():
    assert imported(ast.parse("def f():\n    from heads.train import x")) - ALLOWED["simcse"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_are_short_and_public_ones_documented(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{node.name} is too long"
    for node in [*tree.body, *(member for cls in classes for member in cls.body)]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            obvious = node.name in ("forward", "state_dict", "load_state_dict")
            assert ast.get_docstring(node) or obvious, f"{node.name} has no docstring"


def test_nothing_imports_the_main_program():
    for path in FILES:
        assert "run_multitask" not in imported(ast.parse(path.read_text(encoding="utf-8"))), path


def test_no_file_is_named_for_nothing_in_particular():
    names = {path.name for path in [*FILES, *ROOT.glob("*.py")]}
    assert not names & {"utils.py", "util.py", "helpers.py", "misc.py", "common.py", "datasets.py"}


def test_the_main_program_has_short_documented_functions():
    tree = ast.parse((ROOT / "run_multitask.py").read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert len(functions) > 5
    for node in functions:
        assert node.end_lineno - node.lineno < 60, f"{node.name} is too long"
        assert ast.get_docstring(node) or node.name.startswith("_") or node not in tree.body


def test_importing_the_options_loads_no_heavy_library():
    names = imported(ast.parse((ROOT / "report" / "options.py").read_text(encoding="utf-8")))
    assert names <= set(sys.stdlib_module_names)
