"""Libraries that do a student's work give no points: they are not there, or they refuse."""

import subprocess
import sys
from dataclasses import replace

import pytest
from small_suite import LIMITS, any_way, let_in

from assignment import sandbox
from assignment.isolation import LIBRARIES, LIBRARY_ADAM, Job, needed, optim, other_libraries
from assignment.isolation.image import refusing, write_refusing
from assignment.sandbox import UNSAFE

ADAM = """
import torch
p, g, m, v = torch.ones(3), torch.ones(3), torch.zeros(3), torch.zeros(3)
lists = [p], [g], [m], [v], [], [torch.tensor(1.0)]
more = dict(lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8)
more |= dict(amsgrad=False, maximize=False)
"""
IMPORTS = {
    "scikit-learn": "from sklearn.metrics import f1_score",
    "SciPy": "from scipy.stats import spearmanr",
    "SciPy below the importer": """
import importlib, pathlib, sys
sys.meta_path[:] = [f for f in sys.meta_path if f.__module__.startswith(("_frozen", "importlib"))]
for place in list(sys.path):
    for found in pathlib.Path(place).parents if place else ():
        sys.path += map(str, found.glob("lib/python3*/*-packages"))
sys.modules.pop("scipy", None)
import scipy.stats
""",
    "transformers": "from transformers import BertModel",
    "AdamW as a function": f"{ADAM}from torch.optim.adamw import adamw; adamw(*lists, **more)",
    "AdamW": f"{ADAM}torch.optim.AdamW([torch.nn.Parameter(p)])",
    "Adam read again": f"""{ADAM}
import importlib
module = importlib.reload(importlib.import_module("torch.optim.adam"))
module.adam(*lists, **more)
""",
    "sparse Adam": f"{ADAM}torch.optim.SparseAdam([torch.nn.Parameter(p)])",
    "its bytecode": """
import importlib.machinery, pathlib, torch
found = next(pathlib.Path(torch.__file__).parent.glob("optim/__pycache__/adam.*.pyc"))
importlib.machinery.SourcelessFileLoader("adam", str(found)).load_module()
""",
}


@pytest.fixture(scope="module")
def way():
    found = any_way()
    if found.name in (UNSAFE, "user"):
        pytest.skip("neither a container nor bubblewrap works here")
    return found


def _run(code, way, folder):
    let_in(folder)
    place, given = folder / "run", folder / "given"
    place.mkdir()
    given.mkdir()
    given.chmod(0o755)
    write_refusing(given / "optim")
    limits = replace(LIMITS, address_space=8 << 30, memory=1 << 30, cpu_seconds=60)
    user = sandbox.FIRST_USER if way.own_users else None
    command = (sys.executable, "-B", "-c", code)
    return sandbox.run(Job(command, place, limits, (given,), user, (), given / "optim"), way)


# Each in a process of its own, after PyTorch was loaded once for all of them.
EACH = """
import os, sys, torch
for name, code in CODES.items():
    if (child := os.fork()) == 0:
        try:
            exec(code, {"__name__": "__main__"})
            print(f"{name}: it worked", flush=True)
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_what_students_are_to_write_cannot_be_called(way, tmp_path):
    outcome = _run(f"CODES = {IMPORTS!r}{EACH}", way, tmp_path)
    said = dict(line.split(": ", 1) for line in outcome.output.splitlines() if ": " in line)
    assert said.keys() >= IMPORTS.keys(), outcome.output
    for name in IMPORTS:
        words = ("ModuleNotFound", "ImportError", "not allowed", "StopIter")
        assert any(word in said[name] for word in words), (name, said[name])


def test_what_the_hand_out_requires_can_be_imported(way, tmp_path):
    words = "; ".join(f"import {name}" for name in LIBRARIES)
    outcome = _run(f"{words}; print('it worked')", way, tmp_path)
    assert "it worked" in outcome.output, outcome.output


def test_a_student_at_home_cannot_call_them_either():
    code = f"""{ADAM}
from assignment.driver import refuse_libraries
kernels = refuse_libraries()
called = [torch.optim.AdamW, torch._fused_adamw_, torch._fused_adam_, torch.ops.aten._fused_adamw]
for kernel in called:
    try:
        kernel(*lists, **more)
    except RuntimeError as error:
        assert "not allowed" in str(error)
    else:
        raise AssertionError(kernel)
assert p.tolist() == [1, 1, 1]
try:
    import scipy.stats
except ImportError:
    pass
else:
    raise AssertionError("scipy")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_refusing_modules_have_the_names_of_the_real_ones():
    for name in LIBRARY_ADAM:
        source = (optim() / name).read_text()
        real, instead = {"__name__": "m"}, {"__name__": "m"}
        package = {"__package__": "torch.optim"}
        exec(compile(source, name, "exec"), real | package)
        exec(compile(refusing(source), name, "exec"), instead | package)
        assert real.keys() == instead.keys()


def test_other_libraries_are_those_that_are_not_needed():
    names, folders = needed()
    assert {"torch", "numpy", "sympy"} <= names  # PyTorch requires SymPy
    inside = {path.name for path in other_libraries() if path.parent in folders}
    assert {"scipy", "sklearn"} <= inside
    assert not inside & names
