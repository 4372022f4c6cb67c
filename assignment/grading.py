"""Marks submissions: student code computes arrays in a sandbox, this program judges them.

This process never imports student code, and the answers never enter the sandbox. So whatever a
submission does, all that reaches the judge are arrays, and a case without arrays scores nothing.
Feeds: grade_command.
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
from dataclasses import dataclass, field, replace
from pathlib import Path

from assignment import intake, sandbox
from assignment.compare import CaseResult, Suite, judge
from assignment.intake import Submission
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
class Material:
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


@dataclass(frozen=True)
class Mark:
    """What one submission earned.

    Attributes:
        name: the submission's.
        results: one per case of the suite.
        stops: case -> what ended the run that was at it.
        left: what was not taken from the submission.
        layers: of the sandbox: name -> "" if it held, otherwise why not.
        seconds: of all runs.
        fault: why it was not graded, "" if it was.
        leaderboard: name -> value, of predictions that were handed in.
    """

    name: str
    results: list[CaseResult]
    stops: dict[str, str]
    left: list[str]
    layers: dict[str, str]
    seconds: float
    fault: str = ""
    leaderboard: dict[str, float] = field(default_factory=dict)


def layers_here(limits: Limits) -> dict[str, str]:
    """Return the layers of the sandbox: name -> "" if it holds on this machine, or why not."""
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        command = [sys.executable, "-SBc", "pass"]
        return sandbox.run(command, Path(folder), limits, user=FIRST_USER).layers


def grade_class(submissions: Sequence[Submission], material: Material, jobs: int) -> Iterator[Mark]:
    """Yield the marks of submissions in their order, `jobs` at a time.

    One that cannot be graded is marked with its fault and stops no other.
    """
    users: queue.SimpleQueue[int] = queue.SimpleQueue()
    for user in range(FIRST_USER, FIRST_USER + jobs):
        users.put(user)

    def one(submission: Submission) -> Mark:
        user = users.get()
        try:
            return grade(submission, material, user)
        except OSError as error:
            return ungraded(submission.name, material.suite, f"could not be graded: {error}")
        finally:
            users.put(user)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, submissions)


def grade(submission: Submission, material: Material, user: int = FIRST_USER) -> Mark:
    """Return the mark of a submission.

    Args:
        user: run as root, the user id that the student's processes get.

    Raises:
        OSError: a folder cannot be made, or no process can be started.
    """
    if submission.fault:
        return ungraded(submission.name, material.suite, submission.fault)
    temporary = tempfile.mkdtemp(prefix="grade-")
    try:
        return _grade(submission, material, user, Path(temporary))
    finally:
        # shutil.rmtree recurses, and a submission may have left a thousand folders in each other.
        subprocess.run(["rm", "-rf", temporary], stderr=subprocess.DEVNULL, check=False)


def ungraded(name: str, suite: Suite, fault: str) -> Mark:
    """Return the mark of a submission that was not run: no points, and the reason for each case."""
    cases = [CaseResult(case["name"], case["part"], False, fault) for case in suite.about["cases"]]
    return Mark(name, cases, {}, [], {}, 0.0, fault)


def _grade(submission: Submission, material: Material, user: int, place: Path) -> Mark:
    tree, kit, given = (place / name for name in ("tree", "kit", "suite"))
    left = intake.take_code(submission.tree, tree, material.files, material.starter)
    tree.mkdir(exist_ok=True)
    _lay_out(material, kit, given)
    _open_to_read(place, user)
    answers = place / "answers"
    answers.mkdir(mode=0o700)
    waiting = [case["name"] for case in material.suite.about["cases"]]
    stops: dict[str, str] = {}
    outcomes: list[Outcome] = []
    while waiting and len(outcomes) < MOST_RUNS:
        late = any(outcome.stopped.endswith("seconds") for outcome in outcomes)
        limits = _shorter(material.limits) if late else material.limits
        run = replace(material, limits=limits)
        outcomes.append(_run(waiting, run, place / f"run{len(outcomes)}", user))
        answered = intake.take_answers(place / f"run{len(outcomes) - 1}" / "out", answers, waiting)
        waiting = [name for name in waiting if name not in answered]
        if waiting:  # cases are asked in order: the run ended at the first without an answer
            stops[waiting.pop(0)] = _why(outcomes[-1])
    stops |= dict.fromkeys(waiting, f"not asked any more after {MOST_RUNS} runs that were stopped")
    results = judge(material.suite, answers)
    seconds = sum(outcome.seconds for outcome in outcomes)
    return Mark(submission.name, results, stops, left, outcomes[0].layers, seconds)


def _shorter(limits: Limits) -> Limits:
    cpu = max(1, int(limits.cpu_seconds * LATER))
    return replace(limits, seconds=limits.seconds * LATER, cpu_seconds=cpu)


def _lay_out(material: Material, kit: Path, given: Path) -> None:
    """Copy what calls the student's functions, and of the suite what the student may know."""
    kit.mkdir()
    shutil.copyfile(material.driver, kit / "driver.py")
    if material.cases.is_dir():
        shutil.copytree(material.cases, kit / "cases", ignore=shutil.ignore_patterns("__pycache__"))
    given.mkdir()
    cases = json.dumps({"cases": material.suite.about["cases"]})
    (given / "suite.json").write_text(cases, encoding="utf-8")
    shutil.copyfile(material.folder / "inputs.npz", given / "inputs.npz")


def _open_to_read(place: Path, user: int) -> None:
    """Let the student's user, and no other's, read what was copied."""
    for folder, _, names in os.walk(place):
        for path, mode in ((folder, 0o750), *((os.path.join(folder, n), 0o640) for n in names)):
            os.chmod(path, mode)
            if os.geteuid() == 0:
                os.chown(path, -1, user)


def _run(cases: Iterable[str], material: Material, folder: Path, user: int) -> Outcome:
    place = folder.parent
    (folder / "out").mkdir(parents=True)
    command: list[str | Path] = [
        *(sys.executable, "-B", place / "kit" / "driver.py"),
        *(place / "suite", place / "tree", folder / "out"),
    ]
    for case in cases:
        command += ["--case", case]
    reads = [place / name for name in ("kit", "suite", "tree")]
    return sandbox.run(command, folder, material.limits, reads, user)


def _why(outcome: Outcome) -> str:
    if outcome.stopped:
        return f"the run was stopped: too much of its {outcome.stopped}"
    return f"the process ended by itself with exit code {outcome.exit_code}"
