"""Attacks on the grading, each with what it scores: nothing where it attacks, the rest if honest.

In each `double` is a function of attacks.py; `total` and `mean` are honest. All are one class,
which is graded once in each way of isolation that is here.
"""

import os
import time
from pathlib import Path

import pytest
from small_suite import (
    HONEST,
    WAYS,
    exam,
    fault_here,
    graded,
    let_in,
    passed,
    submission,
    write_suite,
)

from assignment.grading import grade, grade_class, workplace
from assignment.isolation.ways import NAMES

ATTACKS = Path(__file__).with_name("attacks.py")
HONEST_PART, SECOND = {"total", "mean"}, "\n\n\ndef total"
# What stops the run that was at `double`; "" for attacks that end with an answer, or an error.
EITHER = "its memory|"  # the limit refuses it, or whoever watches was there before
STOPS = {
    "endless_loop": "CPU seconds",
    "memory_bomb": EITHER,
    "shared_memory_bomb": f"{EITHER}|ended with exit code|its seconds",
    "leave_early": "ended with exit code",
    "forged_results": "",
    "always_equal": "",
    "skipped": "ended with exit code",
    "frames_walked": "",
    "answers_read": "",
    "answers_linked": "ended with exit code",
    "folder_linked": "ended with exit code",
    "grader_read": "",
    "handles_taken": "ended with exit code",
    "changed_suite": "ended with exit code",
    "much_output": "output",
    "much_disk": "disk",
    "disk_without_names": "disk",
    "one_large_file": "",
    "many_folders": "ended with exit code",
    "left_behind": "ended with exit code",
    "always_another": "ended with exit code",
    "parent_killed": "ended with exit code",
    "fork_bomb": "its processes|its memory|",
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    return write_suite(tmp_path_factory.mktemp("instructor") / "hidden")


def attack(name: str, **words: object) -> str:
    """Return the source of an attack, its @WORDS@ filled in, with the honest rest below."""
    source = ATTACKS.read_text()
    for word, value in words.items():
        source = source.replace(f"@{word}@", str(value))
    return f"{source}\n\ndouble = {name}{HONEST[HONEST.index(SECOND) :]}"


@pytest.fixture(scope="module", params=NAMES)
def marked(tmp_path_factory, suite, request):
    """The marks of the class of all attacks, name -> mark, and where one would leave its mark."""
    own = [way for way in WAYS if way.name == request.param]
    faults = [own[0].way.missing() or fault_here(way) for way in own]
    if all(faults):
        pytest.skip(faults[0])
    place = tmp_path_factory.mktemp("class")
    marker = place / "open" / "marker"
    marker.parent.mkdir()
    let_in(marker.parent)
    marker.parent.chmod(0o777)
    words = {"ANSWERS": suite / "answers.npz", "MARKER": marker, "GRADER": os.getpid()}
    members = [submission(place / name, attack(name, **words)) for name in STOPS]
    with workplace() as work:
        paper = exam(suite, own[faults.index("")], cpu_seconds=2)
        jobs = 1 if request.param == "user" else 2
        marks = {mark.name: mark for mark in grade_class(members, paper, jobs, work)}
        assert not list(work.iterdir())  # each submission's folder is gone
    return marks, marker


@pytest.mark.parametrize("name", STOPS)
def test_an_attack_earns_nothing_and_the_honest_rest_counts(marked, name, request):
    mark = marked[0][name]
    if mark.machine:  # another user's files that have no name may be anybody's: there is no mark
        assert name == "disk_without_names" and "unnamed files" in mark.machine
        assert "user" in request.node.name
    elif name == "fork_bomb":  # its own children write answers, too, and may spoil the other cases'
        assert passed(mark) <= HONEST_PART
    else:
        assert passed(mark) == HONEST_PART and set(mark.stops) <= {"double"}
        told = mark.stops.get("double", "")
        assert any(bool(told) == bool(w) and w in told for w in STOPS[name].split("|")), told


def test_what_an_attack_left_behind_is_killed(marked):
    time.sleep(1.5)
    assert not marked[1].exists()


def test_sleeping_is_stopped_by_the_clock(tmp_path, suite):
    mark = graded(tmp_path / "sleeper", suite, attack("sleeper"), seconds=4)
    assert "double" not in passed(mark) and "its seconds" in mark.stops["double"]


def test_links_tests_and_configuration_handed_in_do_not_count(tmp_path, suite):
    solution = tmp_path / "solution.py"
    solution.write_text(HONEST)
    linker = submission(tmp_path / "linker")
    (linker.tree / "work.py").unlink()
    (linker.tree / "work.py").symlink_to(solution)
    mark = grade(linker, exam(suite), tmp_path)
    assert not passed(mark) and mark.left[0].startswith("work.py: not a regular file")

    tester = submission(tmp_path / "tester", "raise SystemExit\n")
    for name in ("conftest.py", "sitecustomize.py", "tests/test_work.py", "suite.json", "work.pyc"):
        (tester.tree / name).parent.mkdir(exist_ok=True)
        (tester.tree / name).write_text(HONEST)
    assert not passed(grade(tester, exam(suite), tmp_path))
