"""Ctrl-C: one line that says how to go on, even while the libraries are still being loaded."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = "\ninterrupted; the same command with --resume continues it"


def leave_on_interrupt() -> None:
    """Until `raise_on_interrupt`, let Ctrl-C end the program at once: nothing is written yet."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that work in progress can be put away."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    print(INTERRUPTED, file=sys.stderr, flush=True)
    os._exit(130)  # an exception here would surface in the middle of somebody's import
