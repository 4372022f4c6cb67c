"""Encodes files of texts: `python -m minbert.encode FILES --out DIR`."""

import sys

from minbert.encode.options import Options, parse_options
from runtime.interrupt import INTERRUPTED_UNSAVED, leave_on_interrupt, raise_on_interrupt

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
OPTIONS = parse_options() if __name__ == "__main__" else None
if OPTIONS:
    leave_on_interrupt(INTERRUPTED_UNSAVED)

from minbert.encode.folder import encode_files
from runtime.commands import exit_code


def main(options: Options) -> int:
    """Run a command line; return its exit code."""
    return exit_code(lambda: encode_files(options), INTERRUPTED_UNSAVED)


if __name__ == "__main__":
    assert OPTIONS is not None
    raise_on_interrupt()
    sys.exit(main(OPTIONS))
