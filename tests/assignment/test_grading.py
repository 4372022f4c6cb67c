"""Marks: what is earned, what a missing answer scores, and that two runs agree."""

import json
import os
from pathlib import Path

import pytest
from small_suite import ABOUT, FILES, HONEST, POINTS, graded, material, passed, submission
from small_suite import write_suite as write

from assignment import grading, sandbox
from assignment.grading import MOST_RUNS, grade, grade_class
from assignment.intake import submissions, take_answers, take_code
from assignment.marks import write_class
from runtime.errors import UserError


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("instructor") / "hidden")


def test_honest_code_earns_everything(tmp_path, suite):
    mark = graded(tmp_path / "ada", suite, HONEST)
    assert passed(mark) == set(POINTS) and not mark.stops and not mark.left
    assert mark.name == "ada" and mark.seconds > 0


def test_a_known_mistake_is_named(tmp_path, suite):
    mark = graded(tmp_path / "bob", suite, HONEST.replace("mean(axis=0)", "mean()"))
    assert passed(mark) == {"double", "total"}
    assert [result.mistake for result in mark.results] == [None, None, "whole"]


@pytest.mark.parametrize(
    "source",
    ["", "def double(", "import os; os._exit(0)", "raise KeyboardInterrupt", "double = 3"],
    ids=["empty", "syntax", "leaves at import", "interrupts at import", "no functions"],
)
def test_what_gives_no_answer_scores_nothing(tmp_path, suite, source):
    assert passed(graded(tmp_path / "none", suite, source)) == set()


def test_code_that_is_stopped_again_and_again_is_not_asked_for_ever(tmp_path, suite, monkeypatch):
    monkeypatch.setattr(grading, "MOST_RUNS", 2)
    mark = graded(tmp_path / "gone", suite, "import os; os._exit(0)")
    assert list(mark.stops) == list(POINTS) and MOST_RUNS > 2
    assert "not asked any more" in mark.stops["mean"]


def test_the_answers_and_the_seed_never_enter_the_sandbox(tmp_path, suite, monkeypatch):
    seen = {}

    def look(command, folder, limits, reads, user):
        for path in reads:
            for file in path.rglob("*"):
                seen[file.name] = file.read_bytes() if file.is_file() else b""
        return sandbox.Outcome(0, 0.1, "", "", {})

    monkeypatch.setattr(sandbox, "run", look)
    grade(submission(tmp_path / "ada"), material(suite))
    assert set(seen) == {"driver.py", "suite.json", "inputs.npz", "work.py"}
    assert set(json.loads(seen["suite.json"])) == {"cases"}


def test_a_class_is_graded_in_order_and_two_runs_write_the_same_table(tmp_path, suite):
    sources = {"cleo": HONEST, "ada": "", "bob": HONEST.replace("2 *", "3 *")}
    for name, source in sources.items():
        submission(tmp_path / "class" / name, source)
    found = submissions([tmp_path / "class"], FILES, single=False, work=tmp_path)
    tables = []
    for run in ("first", "second"):
        marks = list(grade_class(found, material(suite), jobs=2))
        write_class(marks, ABOUT, tmp_path / run)
        tables.append((tmp_path / run / "marks.csv").read_bytes())
    assert tables[0] == tables[1]
    assert tables[0].decode().split() == [
        "submission,score,sums,means,stopped", "ada,0,0,0,0", "bob,7,3,4,0", "cleo,9,5,4,0",
    ]  # fmt: skip


def test_a_submission_may_lie_deeper_and_is_told_from_a_class(tmp_path):
    submission(tmp_path / "class" / "ada" / "archive" / "src")
    submission(tmp_path / "class" / "bob")
    (tmp_path / "class" / "cleo").mkdir()
    found = submissions([tmp_path / "class"], FILES, single=False, work=tmp_path)
    trees = {one.name: one.tree.relative_to(tmp_path / "class").as_posix() for one in found}
    assert trees == {"ada": "ada/archive/src", "bob": "bob", "cleo": "cleo"}
    (one,) = submissions([tmp_path / "class" / "bob"], FILES, single=False, work=tmp_path)
    assert one.name == "bob"
    (one,) = submissions([tmp_path / "class" / "cleo"], FILES, single=True, work=tmp_path)
    assert one.name == "cleo"


def test_wrong_folders_are_named(tmp_path):
    with pytest.raises(UserError, match="not a folder"):
        submissions([tmp_path / "gone"], FILES, single=False, work=tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no submissions"):
        submissions([tmp_path / "empty"], FILES, single=False, work=tmp_path)
    for place in ("a", "b"):
        submission(tmp_path / place / "ada")
    with pytest.raises(UserError, match="of this name"):
        submissions([tmp_path / "a", tmp_path / "b"], FILES, single=False, work=tmp_path)


def test_all_but_the_asked_files_come_from_the_starter(tmp_path):
    starter, own, target = (tmp_path / name for name in ("starter", "own", "target"))
    for tree, text in ((starter, "given"), (own, "own")):
        for name in ("a/asked.py", "a/other.py", "a/missing.py", "tests/test_a.py", "conftest.py"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
    (own / "a" / "missing.py").unlink()
    left = take_code(own, target, ("a/asked.py", "a/missing.py"), starter)
    found = {p.relative_to(target).as_posix(): p.read_text() for p in target.rglob("*.py")}
    assert found == {"a/asked.py": "own", "a/other.py": "given", "a/missing.py": "given"}
    assert left == ["a/missing.py: not there"]


def test_only_plain_small_files_are_answers(tmp_path, monkeypatch):
    out, target = tmp_path / "out", tmp_path / "target"
    out.mkdir()
    (tmp_path / "elsewhere").write_text("secret")
    (out / "fine.npz").write_text("x")
    (out / "raised.error.txt").write_text("x")
    (out / "link.npz").symlink_to(tmp_path / "elsewhere")
    os.link(tmp_path / "elsewhere", out / "hard.npz")
    os.mkfifo(out / "pipe.npz")
    (out / "folder.npz").mkdir()
    with (out / "large.npz").open("wb") as file:
        file.truncate(2**40)  # no byte of it is stored
    (out / "unasked.npz").write_text("x")
    cases = ["fine", "raised", "link", "hard", "pipe", "folder", "large", "gone"]
    assert take_answers(out, target, cases) == ["fine", "raised"]
    assert {path.name for path in target.iterdir()} == {"fine.npz", "raised.error.txt"}
