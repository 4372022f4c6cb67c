"""The command lines of `python -m report`; no work and no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.options import option, parse

DESCRIPTION = """\
Is A better than B, or can the data not tell? Two runs, or two files of predictions
in CS224N's format, are compared on the same examples: the difference, its 95 %
interval, a paired test, and Holm's correction for all comparisons made together."""

EPILOG = """\
examples:
  two runs of run_multitask.py, seeds and all:
    python -m report compare runs/first runs/second
  two prediction files, ours or anybody's, against the labels of a file:
    python -m report compare mine.csv yours.csv --gold downloads/cs224n/sts-dev.csv

Exit codes: 0 done, 2 wrong input, 1 a bug in this project."""


@dataclass(frozen=True)
class CompareOptions:
    """The options of `python -m report compare`."""

    a: Path = option(help="a run folder, or a file of predictions", flag="a", metavar="A")
    b: Path = option(help="what it is compared with", flag="b", metavar="B")
    data: str | None = option(
        None,
        "folder with the tasks' files, for the labels (default: the runs' own; of files: bundled)",
        metavar="DIR",
    )
    gold: Path | None = option(None, "the file with the labels, instead of --data", metavar="FILE")
    json: Path | None = option(None, "write all results there", metavar="FILE")
    csv: Path | None = option(None, "write the comparisons there, one per row", metavar="FILE")


def parse_compare(argv: Sequence[str] | None = None) -> CompareOptions:
    """Return the options; `--help` and wrong flags end the program here, with codes 0 and 2."""
    about = {"prog": "python -m report compare", "description": DESCRIPTION, "epilog": EPILOG}
    return parse(CompareOptions, argv, **about)
