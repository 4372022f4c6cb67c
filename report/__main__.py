"""What runs leave behind, read again: `python -m report compare A B`."""

import logging
import sys
from collections.abc import Sequence
from functools import partial

from report.options import parse_compare
from runtime.errors import UserError

USAGE = "usage: python -m report compare A B (--help after it explains)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if words[:1] != ["compare"]:
        print(USAGE, file=sys.stderr)
        return 2
    options = parse_compare(words[1:])
    from report.compare import compare  # after the flags are known to be right: it loads scipy

    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        compare(options, partial(print, flush=True))
        return 0
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
