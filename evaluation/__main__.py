"""Measures encoders as the papers do: `python -m evaluation --backbone mini --baselines`."""

import sys

from runtime.commands import begin, exit_code
from runtime.interrupt import INTERRUPTED_UNSAVED

# Before the other imports, so that --help, mistyped flags and Ctrl-C answer at once.
if __name__ == "__main__":
    begin(INTERRUPTED_UNSAVED)

from evaluation.options import Options, parse_options

OPTIONS = parse_options() if __name__ == "__main__" else None

from functools import partial

from evaluation.command import evaluate


def main(options: Options) -> int:
    """Run a command line; return its exit code."""

    def work() -> None:
        evaluate(options, partial(print, flush=True))

    return exit_code(work, INTERRUPTED_UNSAVED)


if __name__ == "__main__":
    assert OPTIONS is not None
    sys.exit(main(OPTIONS))
