"""The load of other programs during a timing.

On Linux the system counts how long each core was busy, and how long this process computed. The
difference is the time of other programs. On other systems it is unknown.
"""

import os
import time
from pathlib import Path

from runtime.machine import cores

# Cores that other programs may use in a quiet round, on average.
QUIET = 0.1
# Possible error of the counts in seconds: the system counts in hundredths of a second.
ROUNDING = 0.05
STAT = Path("/proc/stat")


class Others:
    """Counts the time of other programs from its creation on."""

    def __init__(self) -> None:
        self.began, self.taken = time.perf_counter(), taken_by_others()

    def cores(self) -> float | None:
        """Return the cores that they used since then, on average.

        None if unknown: the system does not say, or the time is too short to tell.
        """
        taken = taken_by_others()
        if taken is None or self.taken is None:
            return None
        seconds = max(time.perf_counter() - self.began, 1e-9)
        if ROUNDING / seconds > cores() - QUIET:
            return None
        return max(0.0, taken - self.taken - ROUNDING) / seconds


def is_quiet(cores: float | None) -> bool:
    """Return whether a round counts as quiet; True if unknown."""
    return cores is None or cores <= QUIET


def taken_by_others() -> float | None:
    """Return the seconds that other programs have used this process's cores since the start.

    None if the system does not report it. Only differences are meaningful.
    """
    busy = busy_seconds()
    # User and system time, also of child processes that have ended.
    return None if busy is None else busy - sum(os.times()[:4])


def busy_seconds() -> float | None:
    """Return the seconds for which the cores that this process may use were busy, if known."""
    try:
        lines = STAT.read_text().splitlines()
        cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        per_second = os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):  # not Linux
        return None
    ticks = 0
    for line in lines:
        # cpu0 and the ticks in user, nice, system, idle, iowait, irq, softirq and steal: what the
        # host of a virtual machine gave to somebody else.
        name, *counts = line.split()
        if name in cores:
            user, nice, system, _, _, irq, softirq, steal = map(int, counts[:8])
            ticks += user + nice + system + irq + softirq + steal
    # Some sandboxes report only zeros.
    return ticks / per_second if ticks else None
