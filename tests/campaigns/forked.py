"""A command in a forked child, which dies at an operation of its choice.

Imports take seconds, a tiny training tenths: the parent imports once, computes nothing itself, and
forks a child per run. Operations are what changes names in a folder: files opened for writing,
renamed, deleted, linked, folders made, and what waits for the disk.
"""

import fcntl
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
MOST_SAID = 1 << 20  # bytes
LONGEST = 120  # seconds of a command; longer ones hang

# Called with (number of the operation from 1, event, name).
Fault = Callable[[int, str, str], None]


class Ended(NamedTuple):
    """How a command ended: its exit code (negative: a signal), what it wrote, and how long."""

    code: int
    said: str
    seconds: float


def kill_at(which: int) -> Fault:
    """Return a fault that kills the process right before an operation."""

    def fault(number: int, event: str, name: str) -> None:
        if number == which:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


def note_in(path: Path) -> Fault:
    """Return a fault that does no harm: it lists the operations in a file."""
    lines = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def fault(number: int, event: str, name: str) -> None:
        os.write(lines, f"{event} {Path(name).name}\n".encode())

    return fault


def run(
    work: Callable[[], int],
    folder: Path,
    fault: Fault | None = None,
    kill_after: float | None = None,
    ranks: int = 1,
) -> Ended:
    """Run `work` in a child, or in one per rank, as torchrun does.

    Args:
        work: returns an exit code.
        folder: whose operations count; those of the first rank.
        fault: called before each of them.
        kill_after: seconds until SIGKILL.
        ranks: processes; when the first ends badly, the others are killed, as torchrun does.
    """
    # A pipe, which the parent reads at the end, has no length that a limit of files cuts.
    said, log = os.pipe()
    fcntl.fcntl(log, fcntl.F_SETPIPE_SZ, MOST_SAID)
    started = time.monotonic()
    port = 20_000 + (os.getpid() * 131 + time.time_ns() // 1000) % 40_000
    children = [_fork(work, folder, None if rank else fault, rank, ranks, port, log)
                for rank in range(ranks)]  # fmt: skip
    deadline = started + (LONGEST if kill_after is None else kill_after)
    code = _wait(children[0], deadline)
    for child in children[1:]:
        _wait(child, deadline if code == 0 else 0.0)
    os.close(log)
    with open(said, "rb") as pipe:
        return Ended(code, pipe.read().decode("utf-8", "replace"), time.monotonic() - started)


def _wait(child: int, deadline: float) -> int:
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGKILL
        time.sleep(0.002)


def _fork(
    work: Callable[[], int],
    folder: Path,
    fault: Fault | None,
    rank: int,
    ranks: int,
    port: int,
    log: int,
) -> int:
    sys.stdout.flush()
    if child := os.fork():
        return child
    code = 1
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        if ranks > 1:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        if fault is not None:
            _watch(folder, fault)
        code = work()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    _leave(code)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _watch(folder: Path, fault: Fault) -> None:
    """Call `fault` before each operation in a folder, for the rest of this process."""
    count = 0
    inside = str(folder)

    def step(event: str, name: str) -> None:
        nonlocal count
        count += 1
        fault(count, event, name)

    def hook(event: str, arguments: tuple) -> None:
        if event not in EVENTS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        name = os.fsdecode(arguments[0])
        # Relative names: of entries of a folder that is being deleted.
        if os.path.isabs(name) and not name.startswith(inside):
            return
        if event != "open" or arguments[2] & WRITING:
            step(event, name)

    fsync = os.fsync

    def counted(handle: int) -> None:
        step("os.fsync", os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    os.fsync = counted
    sys.addaudithook(hook)
