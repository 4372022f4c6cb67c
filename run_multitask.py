"""SimCSE-tuned BERT, frozen, with heads for sentiment, paraphrase and STS: bi- or cross-encoder?

    python run_multitask.py --pretrain sup --task sts --encoder bi cross
    python run_multitask.py --pretrain none unsup sup --task all --encoder bi cross --seeds 3

One command is a grid of cells (pretrain x task x encoder x seed). The story of a cell:
data -> contrastive tuning -> freeze -> head -> metrics -> runs/<name>/. `experiment` tells it.
"""

import sys

from experiment.options import parse_options
from runtime.interrupt import INTERRUPTED, leave_on_interrupt, raise_on_interrupt

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
SETTINGS = parse_options() if __name__ == "__main__" else None
if SETTINGS:
    leave_on_interrupt()

import logging
from functools import partial

from experiment.backbones import Say
from experiment.comparison import run
from experiment.settings import Settings
from report.page.command import write_page
from runtime.errors import UserError
from runtime.processes import is_main, leave_processes, rank


def main(settings: Settings) -> int:
    """Run a command line; return its exit code."""
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        say = partial(print, flush=True)
        if run(settings, say) and is_main():
            _add_page(settings, say)
        return 0
    except (UserError, OSError) as error:
        who = "error" if is_main() else f"process {rank()} stopped"
        print(f"{who}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if is_main():
            print(INTERRUPTED, file=sys.stderr)
        return 130
    finally:
        leave_processes()


def _add_page(settings: Settings, say: Say) -> None:
    """Write the run's page; whatever is wrong with it, the results stand and are complete."""
    try:
        say(f"page: {write_page(settings.folder())}")
    except Exception as error:
        again = f"python -m report html {settings.folder()}"
        logging.warning("no page (%s: %s); try again: %s", type(error).__name__, error, again)


if __name__ == "__main__":
    assert SETTINGS is not None
    raise_on_interrupt()
    # A terminal without "±" shows "?" instead of failing after an hour's work. (To mypy, stdout may
    # be any TextIO.)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(SETTINGS))
