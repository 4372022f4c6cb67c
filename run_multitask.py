"""SimCSE-tuned BERT, frozen, with heads for sentiment, paraphrase and STS: bi- or cross-encoder?

    python run_multitask.py --pretrain sup --task sts --encoder bi cross
    python run_multitask.py --pretrain none unsup sup --task all --encoder bi cross --seeds 3

One command is a grid of cells (pretrain x task x encoder x seed). The story of a cell:
data -> contrastive tuning -> freeze -> head -> metrics -> runs/<name>/. `experiment` tells it.
"""

import sys

from runtime.commands import begin, exit_code, in_one_line
from runtime.interrupt import INTERRUPTED

# Before the other imports, so that --help, mistyped flags and Ctrl-C answer at once.
if __name__ == "__main__":
    begin(INTERRUPTED)

from experiment.options import parse_options

SETTINGS = parse_options() if __name__ == "__main__" else None

import logging
from collections.abc import Callable
from functools import partial

from experiment.backbones import Say
from experiment.comparison import run
from experiment.settings import Settings
from report.costs import add_costs
from report.page.write import write_page
from runtime.errors import UserError
from runtime.processes import is_main, leave_processes, rank
from runtime.shortage import shortage_told


def main(settings: Settings) -> int:
    """Run a command line; return its exit code."""
    try:
        return exit_code(lambda: _work(settings), INTERRUPTED)
    finally:
        leave_processes()


def _work(settings: Settings) -> int:
    """Run the grid; of several processes, each says its own fault and the first all else."""
    say = partial(print, flush=True)
    try:
        with shortage_told():
            finished = run(settings, say)
        if finished and is_main():
            _add(_costs, "cost", settings, say)
            _add(_page, "html", settings, say)
        return 0
    except (UserError, OSError) as error:
        if is_main():
            raise
        print(f"process {rank()} stopped: {in_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if is_main():
            raise
        return 130


def _add(part: Callable[[Settings, Say], None], command: str, settings: Settings, say: Say) -> None:
    """Add to the run's folder; whatever is wrong with that, the results stand and are complete."""
    try:
        part(settings, say)
    except Exception as error:
        again = f"python -m report {command} {settings.folder()}"
        what = part.__name__.lstrip("_")
        logging.warning("no %s (%s: %s); try again: %s", what, type(error).__name__, error, again)


def _costs(settings: Settings, say: Say) -> None:
    add_costs(settings.folder(), settings.cost_seconds, settings.device, say)


def _page(settings: Settings, say: Say) -> None:
    say(f"page: {write_page(settings.folder())}")


if __name__ == "__main__":
    assert SETTINGS is not None
    sys.exit(main(SETTINGS))
