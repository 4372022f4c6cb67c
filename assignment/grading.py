"""Marks submissions: student code computes arrays in a sandbox, this program judges them.

This process never imports student code, and the answers never enter the sandbox. So whatever a
submission does, all that reaches the judge are arrays, and a case without arrays scores nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from assignment import intake, marks, sandbox
from assignment.compare import CaseResult, Suite, judge
from assignment.intake import Submission
from assignment.isolation import Job, Limits
from assignment.isolation.image import write_refusing
from assignment.marks import Mark
from assignment.sandbox import FIRST_USER, Isolation
from assignment.walk import files_below
from runtime.errors import MachineError
from runtime.files import digest, file_digest, is_alive, write_text
from runtime.version import VERSION

HERE = Path(__file__).parent
# A run that is stopped gives no answer to the case it was at; the others get another run, and with
# less time, so that no submission takes more than twice what one run may take.
MOST_RUNS = 3
LATER = 1 / (MOST_RUNS - 1)
CASE = 1 / 8  # of a run's time, for one case
PUBLIC = "the-public-solution.py"  # among the class's code: a student may have found it
SUITE_FILES = ("suite.json", "inputs.npz", "answers.npz", "mistakes.npz")
ENDINGS = (".npz", ".error.txt")  # of what the driver writes of a case


@dataclass(frozen=True)
class Exam:
    """What all submissions of a class are graded with."""

    folder: Path  # of the hidden suite
    suite: Suite
    files: tuple[str, ...]  # what the assignment asks for
    starter: Path | None  # the tree that was handed out; None: the student's own is used
    limits: Limits  # of each run
    isolation: Isolation
    code: Path | None = None  # where each student's own code is kept, to be compared
    kept: Path | None = None  # where marks are kept, to be used again
    driver: Path = HERE / "driver.py"
    cases: Path = HERE / "cases"

    @cached_property
    def digest(self) -> str:
        """Return a key of all that a mark depends on besides the submission."""
        files = [self.folder / name for name in SUITE_FILES]
        files += [self.driver, *sorted(self.cases.glob("*.py"))]
        libraries = version("torch"), version("numpy"), sys.version
        about: list[Any] = [VERSION, libraries, self.isolation.name, asdict(self.limits)]
        return digest([about, *map(file_digest, files)])


@contextmanager
def workplace() -> Iterator[Path]:
    """Yield a temporary folder; those of graders that were killed are deleted."""
    for left in Path(tempfile.gettempdir()).glob("grade-*-*"):
        process = left.name.split("-")[1]
        if process.isdecimal() and not is_alive(int(process)):
            _delete(left)
    folder = Path(tempfile.mkdtemp(prefix=f"grade-{os.getpid()}-"))
    folder.chmod(0o711)  # a submission's user enters its own folder in it
    try:
        yield folder
    finally:
        _delete(folder)


def _delete(folder: Path) -> None:
    # shutil.rmtree recurses, and a submission may have left a thousand folders in each other.
    subprocess.run(["rm", "-rf", folder], stderr=subprocess.DEVNULL, check=False)


def grade_class(
    submissions: Sequence[Submission], exam: Exam, jobs: int, work: Path
) -> Iterator[Mark]:
    """Yield the marks of submissions in their order, `jobs` at a time.

    One that cannot be graded is marked with its fault and stops no other; one that the machine
    failed has no mark. When the caller is interrupted, all that runs is ended. `work` is a folder
    for temporary ones, as `workplace` gives it.
    """
    users: SimpleQueue[int] = SimpleQueue()
    for user in range(FIRST_USER, FIRST_USER + jobs):
        users.put(user)
    stop = threading.Event()

    def mark(submission: Submission) -> Mark:
        user = users.get()
        try:
            return grade(submission, exam, work, user, stop)
        except (OSError, MachineError) as error:
            return _not_run(submission, exam, machine=str(error))
        finally:
            users.put(user)

    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(mark, submissions)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def grade(
    submission: Submission,
    exam: Exam,
    work: Path,
    user: int = FIRST_USER,
    stop: threading.Event | None = None,
) -> Mark:
    """Return the mark of a submission; when `stop` is set, it ends early.

    Raises:
        OSError: a folder cannot be made, or no process can be started.
        MachineError: the sandbox does not start, or the disk or the memory is full.
    """
    if submission.fault:
        return _not_run(submission, exam, fault=submission.fault)
    place = Path(tempfile.mkdtemp(dir=work))
    own_user = user if exam.isolation.own_users else None
    try:
        return _grade(submission, exam, own_user, place, stop or threading.Event())
    finally:
        _delete(place)


def _not_run(submission: Submission, exam: Exam, fault: str = "", machine: str = "") -> Mark:
    cases = exam.suite.about["cases"]
    results = [CaseResult(case["name"], case["part"], False, fault) for case in cases]
    return Mark(submission.name, results, {}, [], fault=fault, machine=machine)


def _grade(
    submission: Submission, exam: Exam, user: int | None, place: Path, stop: threading.Event
) -> Mark:
    kit, suite, tree, answers = (place / name for name in ("kit", "suite", "tree", "answers"))
    left = [*submission.notes]
    left += intake.take_code(submission.tree, tree, exam.files, exam.starter)
    if exam.code and exam.starter:
        own_code = intake.own_code(tree, exam.files, exam.starter)
        file = f"{submission.name}.py"
        write_text(exam.code / (f"submission {file}" if file == PUBLIC else file), own_code)
    kept = exam.kept / f"{submission.name}.json" if exam.kept else None
    key = _key(exam, tree) if kept else ""
    if kept and (mark := marks.kept(kept, key)):
        return replace(mark, name=submission.name, left=left)
    _lay_out(exam, place, user)
    answers.mkdir(mode=0o700)
    parts = {case["name"]: case["part"] for case in exam.suite.about["cases"]}
    waiting = list(parts)
    stops: dict[str, str] = {}
    seconds, limits = 0.0, exam.limits
    for number in range(MOST_RUNS):
        if not waiting:
            break
        folder = place / f"run{number}"
        folder.mkdir()
        spec: dict[str, Any] = {"tree": str(tree), "suite": str(suite), "out": f"{folder}/out"}
        spec |= {"names": waiting, "cpu_seconds": max(1.0, limits.cpu_seconds * CASE)}
        command = (sys.executable, "-B", str(kit / "driver.py"), json.dumps(spec))
        returns = tuple(f"out/{name}{ending}" for name in waiting for ending in ENDINGS)
        job = Job(command, folder, limits, (kit, suite, tree), user, returns, kit / "optim")
        _check_room(place, limits)
        outcome = sandbox.run(job, exam.isolation, stop)
        _check_room(place, limits)
        if stop.is_set():
            raise MachineError("interrupted")
        seconds += outcome.seconds
        for path, content in outcome.files.items():
            (answers / Path(path).name).write_bytes(content)
        waiting = [n for n in waiting if not any(f"out/{n}{e}" in outcome.files for e in ENDINGS)]
        if waiting:  # cases are asked in order: the run ended at the first without an answer
            why = f"the process ended with exit code {outcome.exit_code}"
            if outcome.stopped:
                why = f"the run was stopped: too much of its {outcome.stopped}"
            at = waiting.pop(0)
            stops[at] = why
            # What other cases of its part share with it stops the next run, too: they come last.
            waiting.sort(key=lambda name: parts[name] == parts[at])
        cpu = max(1, int(exam.limits.cpu_seconds * LATER))
        limits = replace(exam.limits, seconds=exam.limits.seconds * LATER, cpu_seconds=cpu)
    stops |= dict.fromkeys(waiting, f"not asked any more after {MOST_RUNS} runs that were stopped")
    mark = Mark(submission.name, judge(exam.suite, answers), stops, left, seconds)
    if kept:
        marks.keep(kept, mark, key)
    return mark


def _key(exam: Exam, tree: Path) -> str:
    """Return a key of all that a mark depends on: the exam, and the files of a tree."""
    paths = [Path(entry.path) for entry in files_below(tree)]
    return digest([exam.digest, [[str(p.relative_to(tree)), file_digest(p)] for p in paths]])


def _check_room(place: Path, limits: Limits) -> None:
    """Raise MachineError where a submission has not the room on the disk that it may use."""
    free = shutil.disk_usage(place).free
    if free < limits.disk_bytes:
        room = f"{free >> 20} MB are free, {limits.disk_bytes >> 20} are needed"
        raise MachineError(
            f"{place.parent}: {room}; free some space, or set TMPDIR to another folder"
        )


def _lay_out(exam: Exam, place: Path, user: int | None) -> None:
    """Copy what calls the student's functions, and of the suite what the student may know.

    All of it, the student's tree too, can be read by the student's user and by no other.
    """
    kit, given = place / "kit", place / "suite"
    kit.mkdir()
    shutil.copyfile(exam.driver, kit / "driver.py")
    if exam.cases.is_dir():
        shutil.copytree(exam.cases, kit / "cases", ignore=shutil.ignore_patterns("__pycache__"))
    write_refusing(kit / "optim")
    given.mkdir()
    cases = json.dumps({"cases": exam.suite.about["cases"]})
    (given / "suite.json").write_text(cases, encoding="utf-8")
    shutil.copyfile(exam.folder / "inputs.npz", given / "inputs.npz")
    for folder, _, names in os.walk(place):
        for path, mode in ((folder, 0o750), *((os.path.join(folder, n), 0o640) for n in names)):
            os.chmod(path, mode)
            if user is not None:
                os.chown(path, -1, user)
