"""The first program in a sandbox: gives up all it can, then watches over the student's command.

`python -S -m assignment.isolation.inside SPEC` is started by sandbox.run, never by hand. Whatever
cannot be given up ends it before any line of the student runs; a line of its own, which the student
cannot forge, says that all of it was. When the grader ends, however it ends, its end of our stdin
is closed: then all that the student started is killed.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from assignment.isolation import seccomp

READY = b"all that could be given up was\n"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
GRACE = 10  # seconds in which the grader would have stopped us, were it there


def main() -> NoReturn:
    """Run the command; exit as it did (128 + n for signal n)."""
    spec = json.loads(sys.argv[1])
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        _become(spec)
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([0, ended], [], [], spec["seconds"] + GRACE)
    alone = os.getpid() == 1  # with the first process of a namespace end all others
    if alone and ended not in ready:
        os._exit(128 + signal.SIGKILL)
    if not alone:  # what was left behind has become a child of this process
        kill_below(os.getpid())
    _, status, usage = os.wait4(child, 0)
    try:
        while not alone:  # a kill takes a moment on a busy machine
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    code = os.waitstatus_to_exitcode(status)
    # At the limit comes SIGKILL, which does not tell its cause. The kernel counts whole ticks of a
    # busy machine as the command's, hence the half.
    spent = usage.ru_utime + usage.ru_stime
    if code == -signal.SIGKILL and spent >= spec["limits"]["RLIMIT_CPU"] / 2:
        code = -signal.SIGXCPU
    os._exit(code if code >= 0 else 128 - code)


def _become(spec: dict[str, Any]) -> NoReturn:
    """Give up what concerns this process alone, and replace it by the command."""
    try:
        seccomp.new_keyring()
        for name, most in spec["limits"].items():
            resource.setrlimit(getattr(resource, name), (most, most))
        if spec["user"] is not None:
            os.setgroups([])
            os.setresgid(*[spec["user"]] * 3)
            os.setresuid(*[spec["user"]] * 3)
        # After the change of user, which clears it.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        os.umask(0o077)
        os.chdir(spec["folder"])
        seccomp.deny()
        with open(spec["command"][0], "rb"):
            os.write(1, READY)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.execve(spec["command"][0], spec["command"], spec["environment"])
    except BaseException as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
    os._exit(1)


def prctl(option: int, value: int) -> None:
    """Call prctl(2) with word argument."""
    words = [ctypes.c_ulong(word) for word in (value, 0, 0, 0)]
    seccomp.checked(ctypes.CDLL(None, use_errno=True).prctl(option, *words))


def processes_below(process: int) -> list[int]:
    """Return the ids of all that a process started, directly or not; [] without /proc."""
    below: list[int] = []
    waiting = [process]
    while waiting:
        # Each thread has children of its own.
        lists = Path(f"/proc/{waiting.pop()}/task").glob("*/children")
        try:
            children = [int(word) for path in lists for word in path.read_text().split()]
        except OSError:  # it has ended meanwhile
            continue
        below += children
        waiting += children
    return below


def kill_below(process: int) -> None:
    """Kill all that a process started, again and again until nothing new appears."""
    seen: set[int] = set()
    while new := set(processes_below(process)) - seen:
        for child in new:
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:  # it has ended meanwhile
                pass
        seen |= new


if __name__ == "__main__":
    main()
