"""The house rules that a program can check: sizes, docstrings, comments where code teaches."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    *("runtime", "data", "minbert", "simcse", "heads", "baselines", "evaluation"),
    *("report", "experiment", "search", "benchmarks", "assignment"),
)
FILES = [
    *(path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))),
    ROOT / "run_multitask.py",
]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MOST_LINES, MOST_IN_FUNCTION = 300, 50

# The evening's reading, and the objectives: whole-line comments give the shape, the reason, the
# equation, one for every seven lines of code.
TEACHING = [
    *(f"minbert/{name}.py" for name in ("attention", "model", "packing", "pooling", "mlm")),
    *("minbert/fast/attention.py", "minbert/fast/dropout.py", "minbert/pretraining/spans.py"),
    *("minbert/pretraining/initialisation.py", "simcse/loss.py", "simcse/views.py"),
    *("simcse/projection.py", "simcse/grad_cache.py", "simcse/train.py", "simcse/auxiliary.py"),
    *("simcse/objectives.py", "heads/features.py"),
    *(f"baselines/{name}.py" for name in ("whitening", "flow")),
]
FEWEST_COMMENTS = 0.15


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def comment_share(source: str) -> float:
    """Return the whole-line comments per line of code; docstrings and blank lines are neither."""
    comments, code = set(), set()
    documented = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            documented |= set(range(text.lineno, text.end_lineno + 1))
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            comments.add(token.start[0])
        elif token.type not in (*layout, tokenize.COMMENT):
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(comments) / len(code - documented)


@pytest.mark.parametrize("path", [*FILES, *TESTS], ids=name_of)
def test_files_and_functions_are_short(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MOST_LINES
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < MOST_IN_FUNCTION, f"{node.name} is too long"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_is_public_is_documented(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in [*tree.body, *(member for cls in classes for member in cls.body)]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            obvious = node.name in ("forward", "state_dict", "load_state_dict")
            assert ast.get_docstring(node) or obvious, f"{node.name} has no docstring"


@pytest.mark.parametrize("name", TEACHING)
def test_code_that_teaches_is_commented(name):
    share = comment_share((ROOT / name).read_text(encoding="utf-8"))
    assert share >= FEWEST_COMMENTS, f"{share:.2f} comments per line of code"


def test_comments_are_counted_as_whole_lines_outside_docstrings():
    source = '"""Doc\n# no\n"""\n# yes\nx = 1  # no\n\n\ny = 2\n'
    assert comment_share(source) == 1 / 2


def test_no_file_is_named_for_nothing_in_particular():
    names = {path.name for path in FILES}
    assert not names & {"utils.py", "util.py", "helpers.py", "misc.py", "common.py", "datasets.py"}
