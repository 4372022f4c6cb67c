"""The examples of docs/interop.md run and print what stands below them."""

import re
from pathlib import Path

import pytest

from minbert import interop

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "interop.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
# What tests/interop/requirements.txt brings.
OPTIONAL = ("mteb", "bertopic", "langchain_core", "llama_index")


def imports(code: str, name: str) -> bool:
    """Return whether a program imports a library."""
    return re.search(rf"^(from|import) {name}\b", code, re.MULTILINE) is not None


def marked(code: str, output: str):
    """Return the parameters of an example's test, marked if the example needs what is optional."""
    name = "".join(re.findall(r"as_\w+(?=\()|(?<=import )\w+Evaluator", code)[:1]) or "encode"
    optional = any(imports(code, library) for library in OPTIONAL)
    return pytest.param(code, output, id=name, marks=[pytest.mark.interop] * optional)


def test_every_program_of_the_page_is_an_example_with_its_output():
    assert len(EXAMPLES) == PAGE.count("```python") == PAGE.count("```text") == 7


@pytest.mark.parametrize(("code", "output"), [marked(*example) for example in EXAMPLES])
def test_an_example_prints_what_stands_below_it(code, output, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (*OPTIONAL, "sentence_transformers"):
        if imports(code, name):
            hint = f"{name} is not installed: pip install -r tests/interop/requirements.txt"
            pytest.importorskip(name, reason=hint)
    exec(compile(code, "docs/interop.md", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out == output


def test_the_page_lists_every_shape_with_the_bounds_of_the_requirements():
    functions = [name for name in vars(interop) if name.startswith("as_")]
    assert len(functions) == 5
    for name in functions:
        assert f"`{name}(" in PAGE and f"    {name}(" in str(interop.__doc__), name
    lines = (ROOT / "tests" / "interop" / "requirements.txt").read_text().splitlines()
    source = (ROOT / "minbert" / "interop.py").read_text(encoding="utf-8")
    for requirement in (line for line in lines if not line.startswith("#")):
        assert source.count(f'"{requirement}"') == 2, requirement  # in the docstring, in the error
