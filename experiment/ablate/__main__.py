"""The tables of the papers, measured again: `python -m experiment.ablate dropout temperature`."""

import sys

from experiment.ablate.options import parse_options
from runtime.interrupt import INTERRUPTED_UNSAVED, leave_on_interrupt, raise_on_interrupt

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
OPTIONS = parse_options() if __name__ == "__main__" else None
if OPTIONS:
    leave_on_interrupt(INTERRUPTED_UNSAVED)

from functools import partial

from experiment.ablate.command import ablate
from runtime.commands import exit_code

if __name__ == "__main__":
    assert OPTIONS is not None
    raise_on_interrupt()
    work = partial(ablate, OPTIONS, partial(print, flush=True))
    sys.exit(exit_code(work, INTERRUPTED_UNSAVED))
