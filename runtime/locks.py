"""A folder for one program at a time. Feeds: downloads, the run folder."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone_in(place: Path, busy: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of a folder for the block, so that no other program that asks for it does.

    The system lifts the lock when the process ends, however it ends. Where there are no locks
    (Windows, some network drives) the block runs without one. On NFS, Linux locks files that are
    open for writing only: a lock that matters there is that of a file.

    Args:
        place: a folder, or a file in it, which is made and stays.
        busy: called if another program holds the lock; what it raises ends the wait for it.
    """
    if sys.platform == "win32":
        yield
        return
    from fcntl import LOCK_EX, LOCK_NB, flock

    handle = os.open(place, os.O_RDONLY if place.is_dir() else os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            busy()
            flock(handle, LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)
