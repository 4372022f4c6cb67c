"""Ctrl-C: one line that says how to continue, even while the libraries are still loading."""

import os
import signal
import sys
from functools import partial
from types import FrameType

INTERRUPTED = "\ninterrupted; the same command with --resume continues it"
# For programs that keep whatever they have finished, and nothing else.
INTERRUPTED_UNSAVED = "\ninterrupted; the same command reuses what it had finished"


def leave_on_interrupt(message: str = INTERRUPTED) -> None:
    """Let Ctrl-C end the program at once until `raise_on_interrupt`: nothing is written yet."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, partial(_leave, message))


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that work in progress can be cleaned up."""
    if isinstance(signal.getsignal(signal.SIGINT), partial):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(message: str, number: int, frame: FrameType | None) -> None:
    print(message, file=sys.stderr, flush=True)
    os._exit(130)  # an exception here would surface in the middle of an import
