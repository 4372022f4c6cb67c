"""A sandbox that hides the solution here, and in which the solution gets all points: found once.

Searching all files that students' code can read takes a minute or more, and running the solution
some seconds. What was found is kept in `machine.json` next to the hidden tests, and holds as long
as the machine, its Python and its libraries, and the tests are the same.
"""

import json
import os
import site
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from assignment import marks
from assignment.grading import Exam, grade
from assignment.intake import Submission
from assignment.isolation.ways import USER
from assignment.marks import Mark
from assignment.sandbox import UNSAFE, Isolation, choose, fault_of
from runtime.files import digest
from runtime.streams import printable

RECORD = "machine.json"
MACHINE_ID = Path("/etc/machine-id")  # empty or missing in an image


class SolutionFails(Exception):
    """The solution does not get all points in the sandbox."""


def checked(
    exam: Exam,
    reference: Path,
    hidden: Sequence[Path],
    traces: Mapping[str, Any],
    asked: str,
    alone: bool,
    again: bool,
    work: Path,
) -> Exam:
    """Return an exam in a sandbox that works, by what is found now or was found before.

    Args:
        exam: without a sandbox.
        reference: the solution.
        hidden, traces, asked, alone: as in `sandbox.choose`; `asked` is "none" for no sandbox.
        again: do not use what was found before.
        work: a folder for temporary ones.

    Raises:
        MachineError: no sandbox works.
        SolutionFails: the solution does not get all points.
    """
    record = exam.folder.parent / RECORD
    if not again and (before := _recorded(record, exam, hidden, traces)):
        way = before.isolation.way
        allowed = asked in ("", before.isolation.name) and (alone or way is not USER)
        if allowed and way and not (way.missing() or fault_of(before.isolation)):
            return before
    if asked != UNSAFE:
        exam = replace(exam, isolation=choose(asked, hidden, alone, traces))
    solution = grade(Submission("the solution", reference, reference), exam, work)
    if fault := _fault_of(solution, exam.suite.about):
        raise SolutionFails(f"in this sandbox ({exam.isolation.name}) {fault}")
    if asked != UNSAFE and os.access(record.parent, os.W_OK):
        content = {**asdict(exam.isolation), "key": _key(exam, hidden, traces)}
        marks.write_json(record, content)
        record.chmod(0o600)
    return exam


def _recorded(
    record: Path, exam: Exam, hidden: Sequence[Path], traces: Mapping[str, Any]
) -> Exam | None:
    """Return the exam in the sandbox of a record, None if it does not hold here any more."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        key = content.pop("key")
        exam = replace(exam, isolation=Isolation(**content))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return exam if key == _key(exam, hidden, traces) else None


def _key(exam: Exam, hidden: Sequence[Path], traces: Mapping[str, Any]) -> str:
    """Return a key of the machine, its Python, the tests, the solution, and where they lie."""
    machine = MACHINE_ID.read_text().strip() if MACHINE_ID.is_file() else ""
    folders = [(folder, os.stat(folder).st_mtime_ns) for folder in site.getsitepackages()]
    places = [(str(path.resolve()), path.stat().st_mode) for path in hidden]
    known = [traces["lines"], traces["bytecode"]]
    return digest([exam.digest, machine, os.geteuid(), sys.prefix, folders, places, known])


def _fault_of(solution: Mark, about: dict[str, Any]) -> str:
    """Return what the solution gets, in words, if that are not all points."""
    wrong = next((result for result in solution.results if not result.passed), None)
    if wrong is None:
        return ""
    points = f"{marks.total(solution, about):g} of {marks.most(about):g}"
    why = printable(f"{wrong.computed}; {solution.stops.get(wrong.case, '')}").strip("; ")
    return f"the solution gets {points} points ({wrong.case}: {why}); nothing was graded"
