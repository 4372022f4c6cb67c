"""A process and all that it started, as Linux's /proc shows them. Feeds: jail, sandbox."""

import os
import signal
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def below(process: int) -> list[int]:
    """Return the ids of all that a process started, directly or not; [] without /proc."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def _children(process: int) -> list[int]:
    # Each thread has children of its own.
    try:
        lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:  # it has ended meanwhile
        return []
    return [int(word) for text in lists for word in text.split()]


def resident(processes: list[int]) -> int:
    """Return the memory that processes hold, in bytes; shared pages count for each."""
    return sum(_pages(process) for process in processes) * PAGE_BYTES


def _pages(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def out_of_memory_kills() -> int:
    """Return how many processes of this machine the kernel has killed for want of memory."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def kill_below(process: int) -> None:
    """Kill all that a process started, again and again until nothing new appears."""
    seen: set[int] = set()
    while new := set(below(process)) - seen:
        for child in new:
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:  # it has ended meanwhile
                pass
        seen |= new
