"""The command line of `python -m report html`; no work and no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.options import option, parse

DESCRIPTION = """\
Write a finished run's page, RUN/report.html: the verdict, scores with intervals, where the
encoders differ, examples, costs, curves, settings. One file, which opens without a network.
Costs are those of RUN/costs.json; python -m report cost RUN measures them for longer."""


@dataclass(frozen=True)
class PageOptions:
    """The options of `python -m report html`."""

    run: Path = option(help="the folder of a finished run", flag="run", metavar="RUN")
    data: str | None = option(
        None, "folder with the tasks' files, if they have moved since the run", metavar="DIR"
    )


def parse_page(words: Sequence[str]) -> PageOptions:
    """Return the options; `--help` and wrong words end the program, with 0 and 2."""
    return parse(PageOptions, words, prog="python -m report html", description=DESCRIPTION)
