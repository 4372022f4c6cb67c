"""Finds the nearest texts: `python -m search index FILE --out INDEX`, then `query` or `pairs`."""

import os
import sys

from runtime.interrupt import leave_on_interrupt, raise_on_interrupt
from search.options import IndexOptions, Options, parse_options

# `index` keeps the parts that it has finished, the other commands have nothing to keep.
INTERRUPTED = "\ninterrupted; the same command goes on from what it had finished"

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
OPTIONS = parse_options() if __name__ == "__main__" else None
if OPTIONS:
    leave_on_interrupt("\ninterrupted")

import logging
from functools import partial

from runtime.errors import UserError
from search.command import run


def main(options: Options) -> int:
    """Run a command line; return its exit code."""
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        run(options, partial(print, flush=True))
        return 0
    except BrokenPipeError:  # whoever read the output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = isinstance(options, IndexOptions)
        print(INTERRUPTED if kept else "\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    assert OPTIONS is not None
    raise_on_interrupt()
    if sys.stdout is not None:  # signs that a terminal lacks become "?"
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(OPTIONS))
