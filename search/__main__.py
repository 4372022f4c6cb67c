"""Finds the nearest texts: `python -m search index FILE --out INDEX`, then `query` or `pairs`."""

import sys

from runtime.interrupt import leave_on_interrupt, raise_on_interrupt
from search.options import IndexOptions, Options, parse_options

# `index` keeps the parts that it has finished, the other commands have nothing to keep.
INTERRUPTED = "\ninterrupted; the same command goes on from what it had finished"

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
OPTIONS = parse_options() if __name__ == "__main__" else None
if OPTIONS:
    leave_on_interrupt("\ninterrupted")

from functools import partial

from runtime.commands import exit_code
from search.command import run


def main(options: Options) -> int:
    """Run a command line; return its exit code."""
    kept = isinstance(options, IndexOptions)
    say = partial(print, flush=True)
    return exit_code(lambda: run(options, say), INTERRUPTED if kept else "\ninterrupted")


if __name__ == "__main__":
    assert OPTIONS is not None
    raise_on_interrupt()
    if sys.stdout is not None:  # signs that a terminal lacks become "?"
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(OPTIONS))
