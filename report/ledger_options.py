"""The command lines of `python -m report list` and `show`; no work and no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.options import option, parse


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
