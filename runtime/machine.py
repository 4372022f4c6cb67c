"""The machine that a command runs on."""

import os


def cores() -> int:
    """Return the number of cores that this process may use.

    It is smaller than that of the machine in a container, under `taskset` or a batch system.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS, Windows
