"""Measures encoders as the papers do: `python -m evaluation --backbone mini --baselines`."""

import sys
from collections.abc import Sequence
from functools import partial

from evaluation.options import DESCRIPTION, EPILOG, EvaluationOptions
from runtime.commands import INTERRUPTED_UNSAVED, begin, exit_code
from runtime.options import parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    options = parse(
        EvaluationOptions,
        argv,
        prog="python -m evaluation",
        description=DESCRIPTION,
        epilog=EPILOG,
    )

    def work() -> None:
        from evaluation.command import evaluate

        evaluate(options, partial(print, flush=True))

    return exit_code(work, INTERRUPTED_UNSAVED)


if __name__ == "__main__":
    begin(INTERRUPTED_UNSAVED)
    sys.exit(main())
