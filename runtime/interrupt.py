"""Ctrl-C: one line that says how to continue, even while the libraries are still loading."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = "\ninterrupted; the same command with --resume continues it"


def leave_on_interrupt() -> None:
    """Let Ctrl-C end the program at once until `raise_on_interrupt`: nothing is written yet."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that work in progress can be cleaned up."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    print(INTERRUPTED, file=sys.stderr, flush=True)
    os._exit(130)  # an exception here would surface in the middle of an import
