"""The command lines of `python -m report compare`, `list` and `show`; no work, no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.options import option, parse

COMPARE = """\
Is A better than B, or can the data not tell? Two runs, or two files of predictions
in CS224N's format, are compared on the same examples: the difference, its 95 %
interval, a paired test, and Holm's correction for all comparisons made together."""

COMPARE_EPILOG = """\
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
    about = {"prog": "python -m report compare", "description": COMPARE, "epilog": COMPARE_EPILOG}
    return parse(CompareOptions, argv, **about)


@dataclass(frozen=True)
class ListOptions:
    """`python -m report list`."""

    folders: tuple[Path, ...] = option(
        (Path("runs"),), "folders that hold run folders", flag="folders", metavar="RUNS_DIR"
    )


@dataclass(frozen=True)
class ShowOptions:
    """`python -m report show`."""

    run: Path = option(help="a run folder", flag="run", metavar="RUN")


def parse_list(words: Sequence[str]) -> ListOptions:
    """Return the options of `list`; `--help` and wrong words end the program, with 0 and 2."""
    return parse(
        ListOptions,
        words,
        prog="python -m report list",
        description="List runs, the latest last: when, how long, on what, and their best scores.",
        epilog="""\
examples:
  python -m report list
  python -m report list runs /mnt/gpu/runs

A score is the mean over seeds of a task's main metric in its best setting, on the test
split if that has labels. "gone" names what was deleted since; scores do not need it.""",
    )


def parse_show(words: Sequence[str]) -> ShowOptions:
    """Return the options of `show`; `--help` and wrong words end the program, with 0 and 2."""
    return parse(
        ShowOptions,
        words,
        prog="python -m report show",
        description="Show all that is known of a run: command, hashes, machine, minutes, scores.",
        epilog="example:\n  python -m report show runs/sup_sts_bi_frozen_1a2b3c4d",
    )
