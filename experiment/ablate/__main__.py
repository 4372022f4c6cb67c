"""The tables of the papers, measured again: `python -m experiment.ablate dropout temperature`."""

import sys

from runtime.commands import begin, exit_code
from runtime.commands import INTERRUPTED_UNSAVED

# Before the other imports, so that --help, mistyped flags and Ctrl-C answer at once.
if __name__ == "__main__":
    begin(INTERRUPTED_UNSAVED)

from experiment.ablate.options import parse_options

OPTIONS = parse_options() if __name__ == "__main__" else None

from functools import partial

from experiment.ablate.command import ablate

if __name__ == "__main__":
    assert OPTIONS is not None
    work = partial(ablate, OPTIONS, partial(print, flush=True))
    sys.exit(exit_code(work, INTERRUPTED_UNSAVED))
