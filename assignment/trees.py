"""Trees of code: the student's with holes, the reference without, and mutants of the reference.

A place is a function of the plain model, `file:name`; students write its body below the docstring.
No tree holds `minbert/fast`, which would give a solution away. At its top lie the programs and what
students write; all that these build on is in `kit/`, whose packages take in the folders beside it.
"""

import ast
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import cache_from_source
from itertools import product
from pathlib import Path
from types import CodeType
from typing import Any

from assignment.intake import asked_files
from assignment.parts import PARTS, Mistake, Part
from runtime.errors import UserError

ROOT = Path(__file__).parents[1]
WIDTH = 100
SHORT = 24  # characters, of a line that any program may have
KIT = "kit"
PROGRAMS = ("train.py", "check.py")
JOINED = """
# The code you write for this package is in the folder of the same name next to kit/.
__path__ = __import__("pkgutil").extend_path(__path__, __name__)
"""
# What lies elsewhere here: an encoder without the fast forms, heads without what opens finished
# runs, and the student's own programs.
ELSEWHERE = {
    "heads/__init__.py": "assignment/starter/heads.py",
    "minbert/encoder.py": "assignment/starter/encoder.py",
    "train.py": "assignment/starter/train.py",
    "check.py": "assignment/starter/check.py",
}


def write_tree(folder: Path, parts: Sequence[Part], solved: bool) -> None:
    """Write a tree with holes in place of parts' solutions, or solved, as the reference is."""
    cases = {f"assignment/cases/{part.file}.py" for part in parts if part.cases}
    at_the_top = {*PROGRAMS, *asked_files(part.name for part in parts)}
    for name in (*tree_files(), *cases):
        source = (ROOT / ELSEWHERE.get(name, name)).read_text(encoding="utf-8")
        if not solved:
            source = _with_holes(name, source, parts)
        if name.endswith("__init__.py"):
            source += JOINED
        path = folder / name if name in at_the_top else folder / KIT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", folder / KIT / "LICENSE")


@contextmanager
def mistaken(tree: Path, mistake: Mistake) -> Iterator[None]:
    """Let a solved tree have a mistake for a while."""
    path = tree / mistake.place.partition(":")[0]
    source = path.read_text(encoding="utf-8")
    # Python would take a file of the same second and size for the one that it compiled.
    compiled = Path(cache_from_source(path))
    try:
        compiled.unlink(missing_ok=True)
        path.write_text(with_mistake(source, mistake), encoding="utf-8")
        yield
    finally:
        compiled.unlink(missing_ok=True)
        path.write_text(source, encoding="utf-8")


def with_mistake(source: str, mistake: Mistake) -> str:
    """Return a file with a mistake in it."""
    name = mistake.place.partition(":")[2]
    first, end = body_of(source, name)
    body = textwrap.dedent("\n".join(source.splitlines()[first:end]))
    old = mistake.old or body
    count = body.count(old)
    if count != 1:
        raise UserError(
            f"{mistake.place}: mistake {mistake.name!r} replaces a text that occurs {count} times; "
            "expected once"
        )
    return with_body(source, name, body.replace(old, mistake.new).splitlines())


@cache
def tree_files() -> list[str]:
    """Return what is in every tree but the cases: the programs and all that they import."""
    files: set[str] = set()
    waiting = [*PROGRAMS, "assignment/driver.py", "assignment/cases/__init__.py"]
    while waiting:
        name = waiting.pop()
        if name not in files:
            files.add(name)
            source = (ROOT / ELSEWHERE.get(name, name)).read_text(encoding="utf-8")
            waiting += [file for file in _imports(source) if (ROOT / file).is_file()]
    return sorted(files)


def _imports(source: str) -> Iterator[str]:
    """Yield the files that an import may mean, those of the packages around it included."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            words = name.split(".")
            for count in range(1, len(words) + 1):
                path = "/".join(words[:count])
                yield from (f"{path}.py", f"{path}/__init__.py")


def _with_holes(file: str, source: str, parts: Sequence[Part]) -> str:
    before = source
    for part in parts:
        for place, text in part.tasks.items():
            where, _, name = place.partition(":")
            if where == file:
                source = with_hole(source, name, f"{part.name}: {name} is yours to write", text)
    # What the solution does without, a student may need.
    if source != before and "\nimport torch\n" not in source:
        source = source.replace("\nimport torch.", "\nimport torch\nimport torch.", 1)
    return source


def with_hole(source: str, name: str, message: str, text: str) -> str:
    """Return a file with a hole in place of a function's body, which raises a message.

    A task's text takes the place of what the docstring says before its arguments.
    """
    node = _function(source, name)
    docstring = ast.get_docstring(node) or ""
    _, *details = re.split(r"\n\n(?=Args|Returns|Raises)", docstring, maxsplit=1)
    width = WIDTH - 4 * len(name.split("."))
    task: list[str] = []
    for line in f'"""{text.strip()}'.splitlines():
        # Formulas are indented in the text, and stay as they are.
        task += [line] if line.startswith("  ") else textwrap.wrap(line, width) or [""]
    task += ["", *details[0].splitlines()] if details else []
    hole = [*task, '"""', f'raise NotImplementedError("{message}")']
    lines = source.splitlines()
    first = node.body[0].lineno - 1 if docstring else body_of(source, name)[0]
    lines[first : node.end_lineno] = _indented(hole, node.body[0].col_offset)
    return "\n".join(lines) + "\n"


def with_body(source: str, name: str, body: Sequence[str]) -> str:
    """Return a file with other lines in place of a function's body; they are not indented yet."""
    lines = source.splitlines()
    first, end = body_of(source, name)
    lines[first:end] = _indented(body, len(lines[first]) - len(lines[first].lstrip()))
    return "\n".join(lines) + "\n"


def _indented(lines: Sequence[str], columns: int) -> list[str]:
    return [f"{' ' * columns}{line}".rstrip() for line in lines]


def traces(parts: Iterable[str], folders: Iterable[Path]) -> dict[str, Any]:
    """Return by what the solutions of parts are known, for `isolation.probe`.

    Of each place whose body is no line or two that any program may have: its lines, and what Python
    makes of it, in hexadecimal digits.
    """
    lines, bytecode = [], set()
    places = [place for name in parts if name in PARTS for place in PARTS[name].places]
    for place, folder in product(places, folders):
        file, _, name = place.partition(":")
        if not (folder / file).is_file():
            continue
        source = (folder / file).read_text(encoding="utf-8")
        first, end = body_of(source, name)
        body = [line.strip() for line in source.splitlines()[first:end]]
        body = sorted((line for line in body if len(line) > SHORT), key=len, reverse=True)
        if len(body) > 1 and len(body[0]) > 2 * SHORT:  # the longest first: it is the rarest
            lines.append([line.encode().hex() for line in body])
        code = _code(compile(source, file, "exec"), name)
        bytecode |= {code.co_code.hex()} if len(code.co_code) > 8 * SHORT else set()
    return {"lines": lines, "bytecode": sorted(bytecode)}


def _code(code: CodeType, name: str) -> CodeType:
    """Return the code of `function` or `Class.method`, in that of a module."""
    for word in name.split("."):
        inside = (c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == word)
        code = next(inside)
    return code


def body_of(source: str, name: str) -> tuple[int, int]:
    """Return the lines of a function below its docstring, comments included: first and end, from 0.

    The name is `function` or `Class.method`.
    """
    node = _function(source, name)
    first = node.body[1 if ast.get_docstring(node) else 0].lineno - 1
    lines = source.splitlines()
    while lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first, node.end_lineno or 0


def _function(source: str, name: str) -> ast.FunctionDef:
    node: ast.AST = ast.parse(source)
    for word in name.split("."):
        inside = [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == word
        ]
        if not inside:
            raise UserError(f"{name}: no such function in the file whose part students write")
        node = inside[0]
    assert isinstance(node, ast.FunctionDef), f"{name} is a class"
    return node
