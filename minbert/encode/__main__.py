"""Encodes files of texts: `python -m minbert.encode FILES --out DIR`."""

import sys
from collections.abc import Sequence

from minbert.encode.options import DESCRIPTION, EXAMPLES, PROGRAM, EncodeOptions
from runtime.commands import INTERRUPTED_UNSAVED, begin, exit_code
from runtime.options import parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = parse(EncodeOptions, argv, prog=PROGRAM, description=DESCRIPTION, epilog=EXAMPLES)
    return exit_code(lambda: work(options), INTERRUPTED_UNSAVED)


def work(options: EncodeOptions) -> None:
    """Encode; heavy imports happen here."""
    from minbert.encode.folder import encode_files

    encode_files(options)


if __name__ == "__main__":
    begin(INTERRUPTED_UNSAVED)
    sys.exit(main())
