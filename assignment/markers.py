"""Solution markers: the lines of our own code that a student writes.

    def cosine_matrix(left, right):
        \"\"\"Return all cosines ...\"\"\"
        # BEGIN SOLUTION
        ...
        # END SOLUTION

The convention is otter-grader's and nbgrader's. A function has at most one such region.
Feeds: trees.
"""

import ast
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from runtime.errors import UserError

BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
WIDTH = 100


class MarkerError(UserError):
    """Markers that do not enclose lines of one function."""


@dataclass(frozen=True)
class Region:
    """The lines between two markers.

    Attributes:
        name: of the function around them, `Class.method` or `function`.
        first, last: the numbers of the markers' own lines, from 0.
        indent: spaces before them.
    """

    name: str
    first: int
    last: int
    indent: int


def regions(source: str, path: str = "") -> list[Region]:
    """Return the marked regions of a file in order.

    Args:
        source: Python code.
        path: for messages.

    Raises:
        MarkerError: a marker without its partner, outside a function, or a second region in one.
    """
    lines = source.splitlines()
    functions = _functions(source)
    found: list[Region] = []
    begin: int | None = None
    for number, line in enumerate(lines):
        if line.strip() not in (BEGIN, END):
            continue
        if (line.strip() == BEGIN) != (begin is None):
            raise MarkerError(f"{path}:{number + 1}: {line.strip()} without its partner")
        if begin is None:
            begin = number
            continue
        around = [name for name, node in functions if _contains(node, begin, number)]
        if not around or any(region.name == around[-1] for region in found):
            raise MarkerError(f"{path}:{begin + 1}: expected one marked region inside a function")
        found.append(Region(around[-1], begin, number, len(line) - len(line.lstrip())))
        begin = None
    if begin is not None:
        raise MarkerError(f"{path}:{begin + 1}: {BEGIN} without its partner")
    return found


def without_markers(source: str) -> str:
    """Return a file with its solutions and without the markers."""
    kept = [line for line in source.splitlines() if line.strip() not in (BEGIN, END)]
    return "\n".join(kept) + "\n"


def with_holes(source: str, text_of: Callable[[str], tuple[str, str] | None]) -> str:
    """Return a file with holes in place of solutions.

    Args:
        source: Python code with markers.
        text_of: name of a function -> what to raise, and the task's text for a comment above it;
            None leaves the solution in place.
    """
    lines = source.splitlines()
    for region in reversed(regions(source)):
        inside = lines[region.first + 1 : region.last]
        task = text_of(region.name)
        lines[region.first : region.last + 1] = inside if task is None else _hole(region, *task)
    return "\n".join(lines) + "\n"


def solution_lines(source: str, wanted: Callable[[str], bool] = lambda name: True) -> set[str]:
    """Return the stripped lines between the markers of the functions that are `wanted`."""
    lines = source.splitlines()
    inside = [
        line.strip()
        for region in regions(source)
        if wanted(region.name)
        for line in lines[region.first + 1 : region.last]
    ]
    return {line for line in inside if line}


def _hole(region: Region, message: str, text: str) -> list[str]:
    pad = " " * region.indent
    comment = []
    for line in text.strip().splitlines():
        # Formulas are indented in the text, and stay as they are.
        wrapped = [line] if line.startswith("  ") else textwrap.wrap(line, WIDTH - len(pad) - 2)
        comment += [f"{pad}# {part}".rstrip() for part in wrapped or [""]]
    return [*comment, f"{pad}raise NotImplementedError({message!r})".replace("'", '"')]


def _functions(source: str) -> list[tuple[str, ast.FunctionDef]]:
    """Return all functions with their names, outer ones before those inside them."""
    found: list[tuple[str, ast.FunctionDef]] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if isinstance(child, ast.FunctionDef):
                    found.append((name, child))
                walk(child, f"{name}.")

    walk(ast.parse(source), "")
    return found


def _contains(node: ast.FunctionDef, first: int, last: int) -> bool:
    # The closing marker is a comment, so a function may end on the line before it.
    return node.lineno - 1 < first and last <= (node.end_lineno or 0)
