"""The classroom kit: `python -m assignment make | check | grade | similar | package | ...`."""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from runtime.errors import UserError

say = partial(print, flush=True)


# Flags are read before the modules that do the work: --help answers at once.
def _make(words: Sequence[str]) -> int:
    from assignment.make import main

    main(words, say)
    return 0


def _check(words: Sequence[str]) -> int:
    from assignment.check import main

    return main(words, say, "-m assignment check")


def _grade(words: Sequence[str]) -> int:
    from assignment.grade_command import main

    main(words, say)
    return 0


def _similar(words: Sequence[str]) -> int:
    from assignment.similar_command import main

    main(words, say)
    return 0


def _package(words: Sequence[str]) -> int:
    from assignment.submission.options import parse_package

    options = parse_package(words)
    from assignment.submission.package import package

    package(options, say)
    return 0


def _validate(words: Sequence[str]) -> int:
    from assignment.submission.options import parse_validate

    options = parse_validate(words)
    from assignment.submission.validate import validate

    validate(options, say)
    return 0


def _score(words: Sequence[str]) -> int:
    from assignment.submission.options import parse_score

    options = parse_score(words)
    from assignment.submission.score import score

    score(options, say)
    return 0


def _leaderboard(words: Sequence[str]) -> int:
    from assignment.submission.options import parse_leaderboard

    options = parse_leaderboard(words)
    from assignment.submission.leaderboard import leaderboard

    leaderboard(options, say)
    return 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "make": _make,
    "check": _check,
    "grade": _grade,
    "similar": _similar,
    "package": _package,
    "validate": _validate,
    "score": _score,
    "leaderboard": _leaderboard,
}
USAGE = f"usage: python -m assignment {'|'.join(COMMANDS)} ... (--help after it explains)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if not words or words[0] not in COMMANDS:
        asked = words[:1] in (["-h"], ["--help"])
        print(USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        return COMMANDS[words[0]](words[1:])
    except BrokenPipeError:  # whoever read the output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
