"""What is earned, what a missing or a hostile answer scores, and what enters the sandbox."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from small_suite import ABOUT, FILES, HONEST, POINTS, exam, graded, passed, submission, write_suite

from assignment import grading, intake, sandbox
from assignment.grading import grade, grade_class
from assignment.intake import submissions, take_answers, take_code
from assignment.marks import for_gradescope, write_class
from assignment.sandbox import Outcome


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    return write_suite(tmp_path_factory.mktemp("instructor") / "hidden")


def test_a_class_of_folders_and_zips_has_the_same_marks_again_and_a_broken_one_stops_nobody(
    tmp_path, suite
):
    members = tmp_path / "class"
    submission(members / "ada")
    with zipfile.ZipFile(members / "ben.zip", "w") as archive:
        archive.writestr("ben/code/work.py", HONEST.replace("mean(axis=0)", "mean()"))
    (members / "eve.zip").write_bytes(b"no zip")
    tables = []
    for run in ("first", "second"):
        found = submissions([members], FILES, single=False, work=tmp_path / f"work of {run}")
        marks = list(grade_class(found, exam(suite), jobs=2))
        write_class(marks, ABOUT, tmp_path / run)
        tables.append((tmp_path / run / "marks.csv").read_bytes())
    assert tables[0] == tables[1]
    header = "submission,score,sums,means,stopped"
    assert tables[0].decode().split() == [header, "ada,9,5,4,0", "ben,5,5,0,0", "eve,0,0,0,0"]
    ada, ben, eve = marks
    assert passed(ada) == set(POINTS) and not ada.stops and not ada.left and ada.seconds > 0
    assert [result.mistake for result in ben.results] == [None, None, "whole"]
    assert eve.fault == "eve.zip: not a sound zip (File is not a zip file); zip again"
    told = for_gradescope(eve, ABOUT)
    assert told["score"] == 0 and told["output"] == f"Not marked: {eve.fault}"


@pytest.mark.parametrize("source", ["def double(", "raise KeyboardInterrupt"])
def test_what_gives_no_answer_scores_nothing(tmp_path, suite, source):
    assert passed(graded(tmp_path / "none", suite, source)) == set()


def test_code_that_is_stopped_again_and_again_is_not_asked_for_ever(tmp_path, suite, monkeypatch):
    assert grading.MOST_RUNS > 2
    monkeypatch.setattr(grading, "MOST_RUNS", 2)
    mark = graded(tmp_path / "gone", suite, "import os; os._exit(0)")
    assert list(mark.stops) == list(POINTS) and not passed(mark)
    assert "not asked any more" in mark.stops["mean"]


def test_the_answers_and_the_seed_never_enter_the_sandbox(tmp_path, suite, monkeypatch):
    seen = {}

    def look(command, folder, limits, reads, user):
        for path in reads:
            for file in path.rglob("*"):
                seen[file.name] = file.read_bytes() if file.is_file() else b""
        return Outcome(0, 0.1, "", "", {})

    monkeypatch.setattr(sandbox, "run", look)
    grade(submission(tmp_path / "ada"), exam(suite))
    assert set(seen) == {"driver.py", "suite.json", "inputs.npz", "work.py"}
    assert set(json.loads(seen["suite.json"])) == {"cases"}


def test_after_a_run_that_used_up_its_time_the_others_get_less(tmp_path, suite, monkeypatch):
    given = []

    def hang(command, folder, limits, reads, user):
        given.append((limits.cpu_seconds, limits.seconds))
        return Outcome(137, limits.seconds, "seconds", "", {})

    monkeypatch.setattr(sandbox, "run", hang)
    mark = grade(submission(tmp_path / "mia"), exam(suite, cpu_seconds=60, seconds=300))
    assert given == [(60, 300), (15, 75), (15, 75)] and not passed(mark)


def test_a_submission_that_cannot_be_graded_stops_no_other(tmp_path, suite, monkeypatch):
    take = intake.take_code

    def fail(tree, *rest):
        if tree.name == "eve":
            raise OSError(28, "No space left on device")
        return take(tree, *rest)

    monkeypatch.setattr(intake, "take_code", fail)
    found = [submission(tmp_path / name) for name in ("eve", "zoe")]
    marks = list(grade_class(found, exam(suite), jobs=1))
    assert [len(passed(mark)) for mark in marks] == [0, 3]
    assert "No space left on device" in marks[0].fault


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


def test_only_plain_small_files_are_answers(tmp_path):
    out, target = tmp_path / "out", tmp_path / "target"
    out.mkdir()
    (tmp_path / "elsewhere").write_text("secret")
    for name in ("fine.npz", "both.npz", "both.error.txt", "raised.error.txt", "unasked.npz"):
        (out / name).write_text("x")
    (out / "link.npz").symlink_to(tmp_path / "elsewhere")
    os.link(tmp_path / "elsewhere", out / "hard.npz")
    os.mkfifo(out / "pipe.npz")
    (out / "folder.npz").mkdir()
    with (out / "large.npz").open("wb") as file:
        file.truncate(2**40)  # no byte of it is stored
    cases = ["fine", "both", "raised", "link", "hard", "pipe", "folder", "large", "gone"]
    assert take_answers(out, target, cases) == ["fine", "both", "raised"]
    taken = {"fine.npz", "both.npz", "both.error.txt", "raised.error.txt"}
    assert {path.name for path in target.iterdir()} == taken
    # A folder of answers may be a link to another student's.
    (tmp_path / "linked").symlink_to(out)
    assert take_answers(tmp_path / "linked", tmp_path / "none", ["fine"]) == []
