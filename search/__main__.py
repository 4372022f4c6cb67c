"""Finds the nearest texts: `python -m search index FILE --out INDEX`, then `query` or `pairs`."""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that --help, mistyped flags and Ctrl-C answer at once.
if __name__ == "__main__":
    begin()

from search.options import IndexOptions, Options, parse_options

OPTIONS = parse_options() if __name__ == "__main__" else None

from functools import partial

from runtime.streams import need_reader
from search.command import run

# `index` keeps the parts that it has finished, the other commands have nothing to keep.
INTERRUPTED = "\ninterrupted; the same command goes on from what it had finished"


def main(options: Options) -> int:
    """Run a command line; return its exit code."""
    kept = isinstance(options, IndexOptions)
    if not kept:
        need_reader()
    say = partial(print, flush=True)
    return exit_code(lambda: run(options, say), INTERRUPTED if kept else "\ninterrupted")


if __name__ == "__main__":
    assert OPTIONS is not None
    sys.exit(main(OPTIONS))
