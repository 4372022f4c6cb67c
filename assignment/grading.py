"""Marks submissions: student code computes arrays in a sandbox, this program judges them.

This process never imports student code, and the answers never enter the sandbox. So whatever a
submission does, all that reaches the judge are arrays, and a case without arrays scores nothing.
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from assignment import intake, sandbox
from assignment.compare import CaseResult, Suite, judge
from assignment.intake import Submission
from assignment.marks import Mark
from assignment.sandbox import Limits, Outcome

DRIVER = Path(__file__).parent / "driver.py"
CASES = Path(__file__).parent / "cases"
# A run that is stopped gives no answer to the case it was at. The others get another run, but so
# many stops are no accident any more.
MOST_RUNS = 8
# Once a run used up its time, the others get this share of it: a class is not kept waiting.
LATER = 1 / 4
# Neither people nor services have ids in this range of systemd's conventions.
FIRST_USER = 60706


@dataclass(frozen=True)
class Exam:
    """What all submissions of a class are graded with.

    Attributes:
        folder: of the hidden suite.
        suite: its content.
        files: what the assignment asks for.
        starter: the tree that was handed out, None if the students' own is used.
        limits: of each run.
        driver, cases: what calls the student's functions.
    """

    folder: Path
    suite: Suite
    files: tuple[str, ...]
    starter: Path | None
    limits: Limits
    driver: Path = DRIVER
    cases: Path = CASES


def layers_here(limits: Limits) -> dict[str, str]:
    """Return the layers of the sandbox: name -> "" if it holds on this machine, or why not."""
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        command = [sys.executable, "-SBc", "pass"]
        return sandbox.run(command, Path(folder), limits, user=FIRST_USER).layers


def grade_class(submissions: Sequence[Submission], exam: Exam, jobs: int) -> Iterator[Mark]:
    """Yield the marks of submissions in their order, `jobs` at a time.

    One that cannot be graded is marked with its fault and stops no other.
    """
    users: queue.SimpleQueue[int] = queue.SimpleQueue()
    for user in range(FIRST_USER, FIRST_USER + jobs):
        users.put(user)

    def mark(submission: Submission) -> Mark:
        user = users.get()
        try:
            return grade(submission, exam, user)
        except OSError as error:
            return _ungraded(submission.name, exam.suite, f"could not be graded: {error}")
        finally:
            users.put(user)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(mark, submissions)


def grade(submission: Submission, exam: Exam, user: int = FIRST_USER) -> Mark:
    """Return the mark of a submission.

    Args:
        user: run as root, the user id that the student's processes get.

    Raises:
        OSError: a folder cannot be made, or no process can be started.
    """
    if submission.fault:
        return _ungraded(submission.name, exam.suite, submission.fault)
    temporary = tempfile.mkdtemp(prefix="grade-")
    try:
        return _grade(submission, exam, user, Path(temporary))
    finally:
        # shutil.rmtree recurses, and a submission may have left a thousand folders in each other.
        subprocess.run(["rm", "-rf", temporary], stderr=subprocess.DEVNULL, check=False)


def _ungraded(name: str, suite: Suite, fault: str) -> Mark:
    """Return the mark of a submission that was not run: no points, and the reason for each case."""
    cases = [CaseResult(case["name"], case["part"], False, fault) for case in suite.about["cases"]]
    return Mark(name, cases, {}, [], {}, 0.0, fault)


def _grade(submission: Submission, exam: Exam, user: int, place: Path) -> Mark:
    left = intake.take_code(submission.tree, place / "tree", exam.files, exam.starter)
    _lay_out(exam, place, user)
    answers = place / "answers"
    answers.mkdir(mode=0o700)
    waiting = [case["name"] for case in exam.suite.about["cases"]]
    stops: dict[str, str] = {}
    outcomes: list[Outcome] = []
    limits = exam.limits
    while waiting and len(outcomes) < MOST_RUNS:
        folder = place / f"run{len(outcomes)}"
        outcome = _run(waiting, folder, limits, user)
        outcomes.append(outcome)
        answered = intake.take_answers(folder / "out", answers, waiting)
        waiting = [name for name in waiting if name not in answered]
        if waiting:  # cases are asked in order: the run ended at the first without an answer
            why = f"the process ended by itself with exit code {outcome.exit_code}"
            if outcome.stopped:
                why = f"the run was stopped: too much of its {outcome.stopped}"
            stops[waiting.pop(0)] = why
        if outcome.stopped.endswith("seconds"):
            cpu = max(1, int(exam.limits.cpu_seconds * LATER))
            limits = replace(exam.limits, seconds=exam.limits.seconds * LATER, cpu_seconds=cpu)
    stops |= dict.fromkeys(waiting, f"not asked any more after {MOST_RUNS} runs that were stopped")
    seconds = sum(outcome.seconds for outcome in outcomes)
    results = judge(exam.suite, answers)
    return Mark(submission.name, results, stops, left, outcomes[0].layers, seconds)


def _lay_out(exam: Exam, place: Path, user: int) -> None:
    """Copy what calls the student's functions, and of the suite what the student may know.

    All of it, the student's tree too, can be read by the student's user and by no other.
    """
    kit, given = place / "kit", place / "suite"
    kit.mkdir()
    shutil.copyfile(exam.driver, kit / "driver.py")
    if exam.cases.is_dir():
        shutil.copytree(exam.cases, kit / "cases", ignore=shutil.ignore_patterns("__pycache__"))
    given.mkdir()
    cases = json.dumps({"cases": exam.suite.about["cases"]})
    (given / "suite.json").write_text(cases, encoding="utf-8")
    shutil.copyfile(exam.folder / "inputs.npz", given / "inputs.npz")
    for folder, _, names in os.walk(place):
        for path, mode in ((folder, 0o750), *((os.path.join(folder, n), 0o640) for n in names)):
            os.chmod(path, mode)
            if os.geteuid() == 0:
                os.chown(path, -1, user)


def _run(cases: Iterable[str], folder: Path, limits: Limits, user: int) -> Outcome:
    place, out = folder.parent, folder / "out"
    out.mkdir(parents=True)
    kit, suite, tree = (place / name for name in ("kit", "suite", "tree"))
    command: list[str | Path] = [sys.executable, "-B", kit / "driver.py", suite, tree, out]
    for case in cases:
        command += ["--case", case]
    return sandbox.run(command, folder, limits, [kit, suite, tree], user)
