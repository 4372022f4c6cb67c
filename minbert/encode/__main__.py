"""Encodes files of texts: `python -m minbert.encode FILES --out DIR`."""

import sys

from runtime.commands import begin, exit_code
from runtime.interrupt import INTERRUPTED_UNSAVED

# Before the other imports, so that --help, mistyped flags and Ctrl-C answer at once.
if __name__ == "__main__":
    begin(INTERRUPTED_UNSAVED)

from minbert.encode.options import Options, parse_options

OPTIONS = parse_options() if __name__ == "__main__" else None

from minbert.encode.folder import encode_files


def main(options: Options) -> int:
    """Run a command line; return its exit code."""
    return exit_code(lambda: encode_files(options), INTERRUPTED_UNSAVED)


if __name__ == "__main__":
    assert OPTIONS is not None
    sys.exit(main(OPTIONS))
