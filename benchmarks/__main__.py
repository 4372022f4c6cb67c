"""Speed compared with other libraries and the machine's limit: `python -m benchmarks`."""

import sys
from collections.abc import Sequence

from benchmarks.options import EPILOG, Options
from runtime.commands import begin, exit_code
from runtime.options import parse


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table as it grows; return 0, or 2 where something is missing."""
    options = parse(Options, argv, prog="python -m benchmarks", description=__doc__, epilog=EPILOG)
    return exit_code(lambda: work(options))


def work(options: Options) -> None:
    """Measure; heavy imports happen here."""
    from benchmarks.run import run

    run(options)


if __name__ == "__main__":
    begin()
    sys.exit(main())
