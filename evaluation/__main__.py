"""Measures encoders as the papers do: `python -m evaluation --backbone mini --baselines`."""

import sys

from evaluation.options import parse_options
from runtime.interrupt import INTERRUPTED_UNSAVED, leave_on_interrupt, raise_on_interrupt

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
OPTIONS = parse_options() if __name__ == "__main__" else None
if OPTIONS:
    leave_on_interrupt(INTERRUPTED_UNSAVED)

from functools import partial

from evaluation.command import evaluate
from evaluation.options import Options
from runtime.commands import exit_code


def main(options: Options) -> int:
    """Run a command line; return its exit code."""

    def work() -> None:
        evaluate(options, partial(print, flush=True))

    return exit_code(work, INTERRUPTED_UNSAVED)


if __name__ == "__main__":
    assert OPTIONS is not None
    raise_on_interrupt()
    sys.exit(main(OPTIONS))
