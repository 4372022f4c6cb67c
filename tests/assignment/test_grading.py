"""What is earned, what a missing or a hostile answer scores, and what enters the sandbox."""

import errno
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from small_suite import ABOUT, FILES, HONEST, POINTS, exam, graded, passed, submission, write_suite

from assignment import grading, intake, sandbox
from assignment.grading import grade, grade_class
from assignment.intake import submissions, take_code
from assignment.isolation import LIBRARY_ADAM
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
        found = submissions([members], FILES, single=False, work=tmp_path)
        marks = list(grade_class(found, exam(suite), jobs=2, work=tmp_path))
        write_class(marks, ABOUT, "none", tmp_path / run)
        tables.append((tmp_path / run / "marks.csv").read_bytes())
    assert tables[0] == tables[1]
    header, ada, ben, eve = tables[0].decode().splitlines()
    assert header == "submission,score,sums,means,stopped,sandbox,not marked"
    assert (ada, ben) == ("ada,9,5,4,0,none,", "ben,5,5,0,0,none,")
    assert eve.startswith("eve,0,0,0,0,none,eve.zip: not a valid zip")
    ada, ben, eve = marks
    assert passed(ada) == set(POINTS) and not ada.stops and not ada.left and ada.seconds > 0
    assert [result.mistakes for result in ben.results] == [(), (), ("whole",)]
    assert eve.fault == "eve.zip: not a valid zip (File is not a zip file); zip again"
    told = for_gradescope(eve, ABOUT)
    assert told["score"] == 0 and told["output"] == f"Not marked: {eve.fault}"


@pytest.mark.parametrize("source", ["def double(", "raise KeyboardInterrupt"])
def test_what_gives_no_answer_scores_nothing(tmp_path, suite, source):
    assert passed(graded(tmp_path / "none", suite, source)) == set()


def test_code_that_is_stopped_again_and_again_is_run_twice_more_and_in_twice_the_time(
    tmp_path, suite, monkeypatch
):
    given, real = [], sandbox.run

    def run(job, *rest):
        given.append((job.limits.cpu_seconds, job.limits.seconds))
        return real(job, *rest)

    monkeypatch.setattr(sandbox, "run", run)
    source = "import os; os._exit(0)"
    mark = graded(tmp_path / "gone", suite, source, cpu_seconds=60, seconds=300)
    assert given == [(60, 300), (30, 150), (30, 150)]
    # After `double` of the same part as `total` the other part is asked first.
    assert list(mark.stops) == ["double", "mean", "total"] and not passed(mark)


def test_the_answers_never_enter_the_sandbox(tmp_path, suite, monkeypatch):
    seen = {}

    def look(job, isolation, stop):
        for path in job.reads:
            for file in path.rglob("*"):
                seen[file.name] = file.read_bytes() if file.is_file() else b""
        return Outcome(0, 0.1, "", "")

    monkeypatch.setattr(sandbox, "run", look)
    grade(submission(tmp_path / "ada"), exam(suite), tmp_path)
    assert set(seen) == {"driver.py", "suite.json", "inputs.npz", "work.py", "optim", *LIBRARY_ADAM}
    assert set(json.loads(seen["suite.json"])) == {"cases"}


def test_what_the_machine_fails_at_has_no_mark_and_stops_no_other(tmp_path, suite, monkeypatch):
    take = intake.take_code

    def fail(tree, *rest):
        if tree.name == "eve":
            raise OSError(28, "No space left on device")
        return take(tree, *rest)

    monkeypatch.setattr(intake, "take_code", fail)
    found = [submission(tmp_path / name) for name in ("eve", "zoe")]
    eve, zoe = grade_class(found, exam(suite), jobs=1, work=tmp_path)
    assert "No space left on device" in eve.machine and len(passed(zoe)) == 3
    assert "score" not in for_gradescope(eve, ABOUT)
    free = grading.shutil.disk_usage(tmp_path)._replace(free=10 << 20)
    monkeypatch.setattr(grading.shutil, "disk_usage", lambda path: free)
    (zoe,) = grade_class(found[1:], exam(suite), jobs=1, work=tmp_path)
    assert "10 MB are free, 32 are needed" in zoe.machine
    write_class([eve, zoe], ABOUT, "none", tmp_path / "out")
    assert "eve,,,,0,none,[Errno 28]" in (tmp_path / "out" / "marks.csv").read_text()


def test_an_interrupt_ends_what_runs_and_what_killed_graders_left_is_deleted(tmp_path, suite):
    # A shell's background jobs ignore Ctrl-C: here it counts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # It says that it runs, which no honest one does.
    source = f"import time\ntime.sleep(600)\n{HONEST}"
    start = time.monotonic()
    marks = grade_class([submission(tmp_path / "mia", source)] * 3, exam(suite), 1, tmp_path)
    threading.Timer(3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(marks)
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 60
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = Path(tempfile.mkdtemp(prefix=f"grade-{ended.pid}-"))
    with grading.workplace() as work:
        assert not left.exists() and work.is_dir()
    assert not work.exists()


def test_what_is_compared_of_a_class_has_the_modules_that_were_not_handed_out(tmp_path, suite):
    starter = tmp_path / "starter"
    submission(starter, "def double(values):\n    raise NotImplementedError\n")
    (starter / "given.py").write_text("GIVEN = 1\n")
    thief = submission(tmp_path / "thief", "from zz_x import double, mean, total\n")
    (thief.tree / "zz_x.py").write_text(HONEST)
    paper = replace(exam(suite), starter=starter, code=tmp_path / "code")
    assert passed(grade(thief, paper, tmp_path)) == set(POINTS)
    compared = (tmp_path / "code" / "thief.py").read_text()
    assert compared == f"# work.py\nfrom zz_x import double, mean, total\n\n# zz_x.py\n{HONEST}"


def test_all_but_the_asked_files_come_from_the_starter(tmp_path):
    starter, own, target = (tmp_path / name for name in ("starter", "own", "target"))
    for tree, text in ((starter, "given"), (own, "own")):
        for name in ("a/asked.py", "a/other.py", "a/missing.py", "tests/test_a.py", "conftest.py"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
    (own / "a" / "missing.py").unlink()
    (own / "helper.py").write_text("own")
    (own / "loop.py").symlink_to(own / "helper.py")
    # A folder of the name of a file that was handed out stands in nobody's way.
    (own / "a" / "other.py").unlink()
    (own / "a" / "other.py").mkdir()
    (own / "a" / "other.py" / "x.py").write_text("own")
    left = take_code(own, target, ("a/asked.py", "a/missing.py"), starter)
    found = {p.relative_to(target).as_posix(): p.read_text() for p in target.rglob("*.py")}
    given = {"a/asked.py": "own", "a/other.py": "given", "a/missing.py": "given"}
    assert found == given | {"helper.py": "own"}
    taken = "not a regular file of at most 1 MB, or in conflict with another file"
    below, link = (f"{name}: {taken}" for name in ("a/other.py/x.py", "loop.py"))
    assert left == [link, below, "a/missing.py: not there"]


def test_a_name_that_a_disk_refuses_is_the_students_fault_and_a_full_disk_is_not(
    tmp_path, monkeypatch
):
    assert not intake._write(tmp_path / ("x" * 300), b"") and intake._write(tmp_path / "y", b"")
    (tmp_path / "class" / ("z" * 201)).mkdir(parents=True)
    submission(tmp_path / "class" / "ada")
    _, long = submissions([tmp_path / "class"], FILES, single=False, work=tmp_path)
    assert long.fault.endswith("a name of more than 200 bytes; rename it")

    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        intake._write(tmp_path / "y", b"")
