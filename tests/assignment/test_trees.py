"""A function's body is cut by its name, and a hole or a mistake takes its place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assignment.parts import Mistake, chosen_parts
from assignment.trees import (
    body_of,
    mistaken,
    tree_files,
    with_hole,
    with_mistake,
    write_tree,
)
from runtime.errors import UserError

SOURCE = '''\
class A:
    def f(self, x):
        """Return x."""
        # why
        y = x
        return y

    def g(self):
        # one line
        return 1


def f():
    a = 1
    return a
'''


def test_a_hole_says_what_to_do_and_raises():
    holed = with_hole(SOURCE, "A.f", "p: write it", "Do this:\n  y = x\nHint: think.")
    hole = ['"""Do this:', "  y = x", "Hint: think.", '"""', "raise NotImplementedError"]
    assert "\n        ".join(hole) in holed and "# why" not in holed and "Return x" not in holed
    holed = with_hole(holed, "A.g", "p: and this", "")
    assert "# one line" not in holed
    scope: dict = {}
    exec(holed, scope)
    with pytest.raises(NotImplementedError, match="p: write it"):
        scope["A"]().f(1)
    with pytest.raises(NotImplementedError, match="p: and this"):
        scope["A"]().g()
    assert scope["f"]() == 1


def test_a_mistake_changes_one_function_for_a_while(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    mistake = Mistake("half", "a.py:A.f", "y = x\nreturn y", "only half", new="return x / 2")
    with mistaken(tmp_path, mistake):
        scope: dict = {}
        exec((tmp_path / "a.py").read_text(), scope)
        assert scope["A"]().f(1) == 0.5 and scope["A"]().g() == 1
    assert (tmp_path / "a.py").read_text() == SOURCE


def test_a_function_or_text_that_is_not_there_is_named():
    for name in ("h", "A.h"):
        with pytest.raises(UserError, match=f"{name}: no such function"):
            body_of(SOURCE, name)
    for old, count in (("a", 2), ("return y", 0)):
        with pytest.raises(UserError, match=f"'half' replaces a text that occurs {count} times"):
            with_mistake(SOURCE, Mistake("half", "a.py:f", old, "says"))


def test_a_tree_holds_the_programs_and_the_plain_model_alone():
    files = set(tree_files())
    assert {"minbert/model.py", "heads/heads.py", "simcse/loss.py", "check.py"} <= files
    assert not [name for name in files if "/fast" in name or "/mistakes" in name]
    assert len(files) < 60


def test_at_the_top_lies_what_students_write_and_all_else_is_in_one_folder(tmp_path):
    write_tree(tmp_path, chosen_parts(["pooling", "metrics"]), solved=False)
    files = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")]
    own = {name for name in files if not name.startswith("kit/")}
    assert own == {"minbert/pooling.py", "assignment/starter/metrics.py", "check.py", "train.py"}
    assert {"kit/minbert/attention.py", "kit/assignment/driver.py"} <= set(files)
    # A package is the folder in kit/ and the one beside it, under names of their own as well.
    (tmp_path / "minbert" / "mine.py").touch()
    names = "minbert.mine minbert.pooling minbert.attention assignment.starter.metrics".split()
    code = f"from importlib.util import find_spec\nfor n in {names}: print(find_spec(n).origin)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "kit")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    mine, pooling, attention, metrics = map(Path, found.splitlines())
    assert (mine, pooling) == (tmp_path / "minbert/mine.py", tmp_path / "minbert/pooling.py")
    assert attention == tmp_path / "kit/minbert/attention.py"
    assert metrics == tmp_path / "assignment/starter/metrics.py"
