"""Data flows one way: packages import only what stands before them, and no files form a cycle."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Each package, and what of the project it may import. A folder inside one may stand higher.
BELOW_REPORT = {"runtime", "data", "minbert", "simcse", "heads", "baselines", "evaluation"}
FLOW = {
    "runtime": set(),
    "data": {"runtime"},
    "minbert": {"runtime"},
    "minbert/encode": {"runtime", "data"},  # a command; it reads texts as all readers do
    "simcse": {"runtime", "data", "minbert"},
    "heads": {"runtime", "data", "minbert"},
    "heads/__main__.py": {"runtime", "data", "minbert", "evaluation"},  # measures thresholds
    "baselines": {"runtime", "data", "minbert", "simcse"},
    "evaluation": BELOW_REPORT - {"evaluation"},
    # What the synthetic data is good for is measured with everything there is.
    "data/synthetic/probes": BELOW_REPORT,
    "report": BELOW_REPORT,
    "experiment": {*BELOW_REPORT, "report"},
    "assignment": {*BELOW_REPORT, "report"},
}
# The encoder under a finished head may be IS-BERT's.
EXCEPTION = Path("heads/saved.py"), "baselines"
PACKAGES = [place for place in FLOW if "/" not in place]
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imports(source: str) -> set[str]:
    """Return the modules that a file imports, at any depth, by their full names."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def imports_of(path: Path) -> set[str]:
    """Return the modules that the file at a path imports; each file is parsed once."""
    return imports(path.read_text(encoding="utf-8"))


def allowed(inside: Path) -> set[str]:
    """Return the packages of the project that a file may import: what its closest room may."""
    room = max((place for place in FLOW if inside.is_relative_to(place)), key=len)
    more = {EXCEPTION[1]} if inside == EXCEPTION[0] else set()
    return {inside.parts[0]} | FLOW[room] | more


def wrong(names: set[str], inside: Path) -> set[str]:
    """Return the packages of the project that a file imports and must not."""
    own = {*PACKAGES, "benchmarks", "run_multitask", "runs", "examples", "tests"}
    return {name.split(".")[0] for name in names} & own - allowed(inside)


def test_imports_point_one_way():
    found = {path.relative_to(ROOT): imports_of(path) for path in FILES}
    assert not {str(path): bad for path, names in found.items() if (bad := wrong(names, path))}


@pytest.mark.parametrize("room", ["minbert/encode", "data/synthetic/probes"])
def test_a_package_does_not_import_its_room_that_stands_higher(room):
    name = room.replace("/", ".") + "."
    users = [path for path in FILES if any(f"{n}.".startswith(name) for n in imports_of(path))]
    assert users and all(path.is_relative_to(ROOT / room) for path in users)


def test_nothing_but_the_classroom_imports_the_generator_of_synthetic_data():
    generator = ROOT / "data" / "synthetic"
    others = [path for path in FILES if generator not in path.parents]
    users = {
        path.relative_to(ROOT).as_posix()
        for path in [*others, *(ROOT / "benchmarks").rglob("*.py"), ROOT / "run_multitask.py"]
        if any(n.startswith("data.synthetic") for n in imports_of(path))
    }
    assert users == {"assignment/course_data.py"}


def test_reading_texts_loads_no_torch():
    for path in (ROOT / "data").rglob("*.py"):
        heads = {name.split(".")[0] for name in imports_of(path)}
        assert not heads & {"torch", "tokenizers", "transformers"}, path


def test_no_files_import_each_other_in_a_circle():
    """Imports inside functions count too: they hide a circle, they do not open it."""
    modules = {}
    for path in [*FILES, ROOT / "run_multitask.py"]:
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for module, path in modules.items():
        names = imports_of(path)
        # `from a.b import c` names the module a.b.c, or what c is in a.b.
        used = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = (used & modules.keys()) - {module}
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, naming the circle


def test_the_plain_model_does_not_know_its_fast_forms():
    for name in ("attention", "model", "packing", "pooling", "mlm", "checkpoint"):
        found = imports_of(ROOT / "minbert" / f"{name}.py")
        assert not {module for module in found if module.startswith("minbert.fast")}, name


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("def f():\n    from heads.train import x", "simcse/x.py"),
        ("import simcse.loss", "heads/x.py"),
        ("from baselines.objectives import x", "simcse/x.py"),
        ("import run_multitask", "report/x.py"),
        ("from runs.read import x", "evaluation/x.py"),
        ("from minbert import encoder", "runtime/x.py"),
        ("from data import tasks", "minbert/model.py"),
    ],
)
def test_a_wrong_import_would_be_seen(source, place):
    assert wrong(imports(source), Path(place))
