"""The classroom kit: `python -m assignment make | check | grade | validate | score`."""

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module

from runtime.commands import begin, run_command

MODULES = {
    "make": "assignment.make",
    "check": "assignment.check",
    "grade": "assignment.grade",
    "validate": "assignment.submission.reader",
    "score": "assignment.submission.score",
}

OVERVIEW = """\
Give a course with this project: make, check and grade assignments (docs/classroom.md).

  make      write the students' folder, its tests, and the solution
  check     check a student's code and name the likely mistakes
  grade     grade a folder of submissions in a sandbox
  validate  check the format of a submission's predictions
  score     score predictions

example:
  python -m assignment make --out fall
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    commands = {name: partial(_run, name) for name in MODULES}
    return run_command("python -m assignment", commands, argv, overview=OVERVIEW)


def _run(name: str, words: Sequence[str]) -> int | None:
    code: int | None = import_module(MODULES[name]).main(words)
    return code


if __name__ == "__main__":
    begin()
    sys.exit(main())
