"""Measures encoders as the papers do: `python -m evaluation --backbone mini --baselines`."""

import sys

from evaluation.options import parse_options
from runtime.interrupt import leave_on_interrupt, raise_on_interrupt

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
OPTIONS = parse_options() if __name__ == "__main__" else None
if OPTIONS:
    leave_on_interrupt()

import logging

from evaluation.command import evaluate
from runtime.errors import UserError

if __name__ == "__main__":
    assert OPTIONS is not None
    raise_on_interrupt()
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        evaluate(OPTIONS)
    except (UserError, OSError) as error:
        sys.exit(f"error: {error}")
