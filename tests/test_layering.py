"""Data flows one way: every import of every file points only against the flow."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STANDARD = set(sys.stdlib_module_names)
# The part of runtime that needs the standard library alone.
PLAIN = {
    f"runtime.{name}"
    for name in (
        "errors shortage files disk lines sealed locks digests json_file options "
        "interrupt terminal streams commands".split()
    )
}
TENSORS = {"torch", "numpy"}
ALLOWED = {
    "runtime": {"runtime", "tqdm", *TENSORS},
    "data": {"data", "numpy", "tqdm", *PLAIN},
    "minbert": {
        *("minbert", "runtime", "tqdm", "tokenizers", "safetensors", "huggingface_hub"),
        *TENSORS,
    },
    "simcse": {"simcse", "data", "minbert", "runtime", *TENSORS},
    "heads": {"heads", "data", "minbert", "runtime", *TENSORS},
    "baselines": {
        *("baselines", "simcse", "data", "minbert", "runtime", "scipy", "sklearn"),
        *TENSORS,
    },
    # Functions of arrays, texts and `baselines.embedder`; leaks is a command line over texts alone.
    "evaluation": {
        *("evaluation", "data", "baselines.embedder", "baselines.overlap"),
        *("numpy", "scipy", "sklearn"),
        *("threadpoolctl", *PLAIN),  # threadpoolctl comes with scikit-learn
    },
    "report": {"report", "evaluation", "data", "numpy", *PLAIN},
    "assignment": {
        *("assignment", "evaluation", "baselines", "heads", "simcse", "minbert", "data"),
        *("runtime", "scipy", "jinja2", "markupsafe", *TENSORS),
    },
    "search": {
        *("search", "heads", "minbert", "data", "runtime", "baselines.isbert", "faiss", *TENSORS),
    },
    "experiment": {
        *("experiment", "report", "evaluation", "baselines", "heads", "simcse", "minbert"),
        *("data", "runtime", *TENSORS),
    },
}
# The command line of the evaluation opens encoders, and nothing else in that package does.
EVALUATION_COMMAND = {
    f"evaluation/{name}.py": {"minbert", "simcse", "heads", "baselines", "runtime", "torch"}
    for name in ("__main__", "command", "opening")
} | {
    "evaluation/options.py": {"minbert.config"},
    "evaluation/seen.py": {"minbert.config", "minbert.hub"},
}
# So does, in the report, what measures the heads of a finished run.
REPORT_COMMANDS = {
    "report/run_costs.py": {"heads", "minbert", "baselines", "torch"},
    "report/cost.py": {"torch"},
}
# A page is drawn and filled in by libraries that nothing else needs.
REPORT_PAGE = {
    "report/page/figure.py": {"matplotlib"},
    "report/page/making.py": {"jinja2"},
}
# A class has a page in the style of a run's.
CLASS_PAGE = {"assignment/class_page.py": {"report.page.figure", "report.page.tables"}}
# The one file that may import other libraries' programs, inside its functions only.
INTEROP = ROOT / "minbert" / "interop.py"
OTHERS = {"mteb", "bertopic", "langchain_core", "llama_index", "sklearn"}
# A measured table has a page in the style of a run's; a linear head is scikit-learn's.
ABLATION = {
    "experiment/ablate/page.py": {"jinja2"},
    "experiment/ablate/heads.py": {"sklearn"},
}
# The command that encodes files reads text and tables as all readers do.
ENCODE = {
    "minbert/encode/texts.py": {"data.examples", "data.readers.tables"},
    "minbert/encode/folder.py": {"data.examples"},
}
# Unlabelled pairs are found by the search's exact products.
SILVER = {"experiment/silver.py": {"search.nearest"}}
# What students submit is packed from runs, and shown as reports are.
SUBMISSION = {
    f"assignment/submission/{name}.py": {"report"} for name in ("package", "score", "leaderboard")
} | {"assignment/submission/board_page.py": {"report", "jinja2"}}
EXCEPTIONS = (
    EVALUATION_COMMAND
    | REPORT_COMMANDS
    | REPORT_PAGE
    | SILVER
    | SUBMISSION
    | CLASS_PAGE
    | ABLATION
    | ENCODE
    | {"minbert/interop.py": OTHERS}
)
FILES = [path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))]


def imported(source: str) -> set[str]:
    """Return the modules that a file imports, at any depth, by their full names."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            module = str(node.module)
            whole = [f"{module}.{alias.name}" for alias in node.names]
            names |= set(whole) if "." not in module and (ROOT / module).is_dir() else {module}
    return names


def forbidden(names: set[str], allowed: set[str]) -> set[str]:
    """Return the modules of which neither they nor a package around them is allowed."""

    def is_allowed(name: str) -> bool:
        parts = name.split(".")
        around = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return parts[0] in STANDARD or bool(around & allowed)

    return {name for name in names if not is_allowed(name)}


def names_in(path: Path) -> set[str]:
    return imported(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_against_the_flow(path):
    inside = path.relative_to(ROOT)
    allowed = ALLOWED[inside.parts[0]] | EXCEPTIONS.get(inside.as_posix(), set())
    assert not forbidden(names_in(path), allowed)


def test_other_libraries_are_imported_by_the_functions_that_need_them_alone():
    tree = ast.parse(INTEROP.read_text(encoding="utf-8"))
    outside = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    at_import = imported("\n".join(ast.unparse(node) for node in outside))
    assert "minbert.encoder" in at_import and not forbidden(at_import, ALLOWED["minbert"])
    used = {name.split(".")[0] for name in names_in(INTEROP)}
    assert used >= OTHERS  # the exception is no wider than its use


def test_nothing_imports_the_shapes_for_other_libraries():
    for path in FILES:
        assert "minbert.interop" not in names_in(path), path


def test_the_plain_part_of_runtime_imports_the_standard_library_only():
    for module in PLAIN:
        path = ROOT / f"{module.replace('.', '/')}.py"
        assert not forbidden(names_in(path), PLAIN), module


@pytest.mark.parametrize("name", ["attention", "model", "packing", "pooling", "mlm", "checkpoint"])
def test_the_plain_model_does_not_know_its_fast_forms(name):
    names = names_in(ROOT / "minbert" / f"{name}.py")
    assert not {found for found in names if found.startswith("minbert.fast")}


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("def f():\n    from heads.training import x", "simcse"),
        ("from runtime.device import autocast", "report"),
        ("from runtime import resume", "data"),
        ("import simcse.loss", "heads"),
        ("from baselines.objectives import x", "simcse"),
        ("from heads.head import x", "baselines"),
        ("import run_multitask", "experiment"),
        ("from minbert import encoder", "runtime"),
    ],
)
def test_the_rule_would_catch_a_wrong_import(source, package):
    assert forbidden(imported(source), ALLOWED[package])


def test_nothing_imports_the_main_program():
    for path in [*FILES, *(ROOT / "benchmarks").rglob("*.py")]:
        assert "run_multitask" not in names_in(path), path
