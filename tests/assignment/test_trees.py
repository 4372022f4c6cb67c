"""The student's tree holds all that its files import."""

import ast

import pytest

from assignment.trees import ELSEWHERE, FILES, ROOT

PACKAGES = {name.partition("/")[0] for name in FILES if "/" in name}
MODULES = [name for name in FILES if name.endswith(".py")]


@pytest.mark.parametrize("name", MODULES)
def test_what_a_file_imports_is_in_the_tree(name):
    tree = ast.parse((ROOT / ELSEWHERE.get(name, name)).read_text(encoding="utf-8"))
    for node in tree.body:
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for path in (f"{one.replace('.', '/')}.py" for one in names):
            if path.partition("/")[0] in PACKAGES and (ROOT / path).is_file():
                assert path in FILES, f"{name} imports it"
