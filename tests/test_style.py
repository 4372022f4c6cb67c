"""The one house rule of form that a program can check: what is public says what it does."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OUTSIDE = {"tests", "docs", "runs", "downloads"}
FILES = [
    *(p for p in sorted(ROOT.glob("*/**/*.py")) if p.relative_to(ROOT).parts[0] not in OUTSIDE),
    *sorted(ROOT.glob("runs/*.py")),  # deeper are the folders of runs
    ROOT / "run_multitask.py",
]
STATE = ("state_dict", "load_state_dict")
FILES = [path for path in FILES if not path.relative_to(ROOT).parts[0].startswith(".")]


def is_obvious(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Return whether the name and one statement say all there is to say."""
    function = isinstance(node, ast.FunctionDef)
    return function and (len(node.body) == 1 or node.name in ("forward", *STATE))


def test_what_is_public_is_documented():
    bare = []
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        for node in [*tree.body, *(member for cls in classes for member in cls.body)]:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                if not ast.get_docstring(node) and not is_obvious(node):
                    bare.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert len(FILES) > 100 and not bare


@pytest.mark.parametrize("name", ["utils", "util", "helpers", "misc", "common", "datasets"])
def test_no_file_is_named_for_nothing_in_particular(name):
    assert f"{name}.py" not in {path.name for path in FILES}
