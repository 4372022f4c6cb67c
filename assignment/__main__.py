"""The classroom kit: `python -m assignment make | check | grade | similar | package | ...`."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from runtime.commands import begin, run_command

say = partial(print, flush=True)


# Flags are read before the modules that do the work: --help answers at once.
def _make(words: Sequence[str]) -> None:
    from assignment.make import main

    main(words, say)


def _check(words: Sequence[str]) -> int:
    from assignment.check import main

    return main(words, say, "-m assignment check")


def _grade(words: Sequence[str]) -> None:
    from assignment.grade_command import main

    main(words, say)


def _similar(words: Sequence[str]) -> None:
    from assignment.similar_command import main

    main(words, say)


def _package(words: Sequence[str]) -> None:
    from assignment.submission.options import parse_package

    options = parse_package(words)
    from assignment.submission.package import package

    package(options, say)


def _validate(words: Sequence[str]) -> None:
    from assignment.submission.options import parse_validate

    options = parse_validate(words)
    from assignment.submission.validate import validate

    validate(options, say)


def _score(words: Sequence[str]) -> None:
    from assignment.submission.options import parse_score

    options = parse_score(words)
    from assignment.submission.score import score

    score(options, say)


def _leaderboard(words: Sequence[str]) -> None:
    from assignment.submission.options import parse_leaderboard

    options = parse_leaderboard(words)
    from assignment.submission.leaderboard import leaderboard

    leaderboard(options, say)


COMMANDS: dict[str, Callable[[Sequence[str]], int | None]] = {
    "make": _make,
    "check": _check,
    "grade": _grade,
    "similar": _similar,
    "package": _package,
    "validate": _validate,
    "score": _score,
    "leaderboard": _leaderboard,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    return run_command("python -m assignment", COMMANDS, argv)


if __name__ == "__main__":
    begin()
    sys.exit(main())
