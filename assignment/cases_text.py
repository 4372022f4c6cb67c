"""What each case asks, in a line: its docstring, read without importing it. Feeds: handout."""

import ast
from pathlib import Path

from assignment.parts import Part

CASES = Path(__file__).parent / "cases"


def case_texts(part: Part) -> dict[str, str]:
    """Return case -> the first line of its docstring."""
    if not part.cases:
        return {}
    tree = ast.parse((CASES / f"{part.name}.py").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    texts = {node.name: (ast.get_docstring(node) or "").split("\n")[0] for node in functions}
    return {case: texts[case] for case in part.cases}
