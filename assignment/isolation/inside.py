"""The first program in a sandbox: gives up all it can, then watches over the student's command.

`python -S -m assignment.isolation.inside SPEC` is started by sandbox.run, never by hand. Whatever
cannot be given up ends it before any line of the student runs; a line of its own on stdout says
that all of it was. What the command prints goes to stderr. When it has ended, or what it may use is
used up, or the grader has closed its end of our stdin, all that it started is killed, and stdout
gets what it is to hand back: a line of JSON for each file, [name, size], and its bytes; and a last
line, [exit code, what was used up].
"""

import ctypes
import json
import os
import resource
import select
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from assignment.isolation import seccomp

READY = b"all that could be given up was\n"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
GRACE = 10  # seconds in which the grader would have stopped us, were it there
LOOK_SECONDS = 0.05
FULL = 1 / 8  # of a disk, free: there may soon be no room for answers
# Follow no link, and do not wait for somebody to write to a pipe.
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def main() -> NoReturn:
    """Run the command, and hand back what it left."""
    spec = json.loads(sys.argv[1])
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        _become(spec)
    ended = os.pidfd_open(child)
    used_up = _watch(spec, ended)
    if os.getpid() == 1:  # a namespace has no other processes than these
        os.kill(-1, signal.SIGKILL)
    else:  # what was left behind has become a child of this process
        kill_below(os.getpid())
    _, status, usage = os.wait4(child, 0)
    try:
        while True:  # a kill takes a moment on a busy machine
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    code = os.waitstatus_to_exitcode(status)
    # At the limit comes SIGKILL, which does not tell its cause. The kernel counts whole ticks of a
    # busy machine as the command's, hence the half.
    spent = usage.ru_utime + usage.ru_stime
    killed = -code in (signal.SIGXCPU, signal.SIGKILL)
    if not used_up and killed and spent >= spec["limits"]["RLIMIT_CPU"] / 2:
        used_up = "CPU seconds"
    if spec["user"] is not None:  # what it left is read with no more rights than it had
        _change_user(spec["user"])
    for name in spec["returns"]:
        _hand_back(os.path.join(spec["folder"], name), name, spec["most"])
    _say([code if code >= 0 else 128 - code, used_up])
    os._exit(0)


def _watch(spec: dict[str, Any], ended: int) -> str:
    """Wait until the command ends, or nobody waits for it; return what was used up, if anything."""
    deadline = time.monotonic() + spec["seconds"] + GRACE
    while time.monotonic() < deadline:
        over = select.select([0, ended], [], [], LOOK_SECONDS)[0]
        # In a file system of its own, whose size is fixed; the number of files is not.
        disk = os.statvfs(spec["folder"])
        many = disk.f_files - disk.f_ffree > spec["files"]
        full = disk.f_bfree < disk.f_blocks * FULL
        if spec["files"] and (many or full):
            return "disk"
        if over:
            return ""
    return "seconds"


def _hand_back(path: str, name: str, most: int) -> None:
    """Write a plain file of bounded size to stdout; of anything else nothing."""
    try:
        handle = os.open(path, PLAIN)
    except OSError:
        return
    content = b""
    if stat.S_ISREG(os.fstat(handle).st_mode):
        with open(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    os.close(handle)
    if content and len(content) <= most:  # an empty one had no room on the disk
        _say([name, len(content)], content)


def _say(words: list[Any], content: bytes = b"") -> None:
    sys.stdout.buffer.write(json.dumps(words).encode() + b"\n" + content)
    sys.stdout.flush()


def _become(spec: dict[str, Any]) -> NoReturn:
    """Give up what concerns this process alone, and replace it by the command."""
    try:
        seccomp.new_keyring()
        for name, most in spec["limits"].items():
            resource.setrlimit(getattr(resource, name), (most, most))
        if spec["user"] is not None:
            _change_user(spec["user"])
        # After the change of user, which clears it.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        os.umask(0o077)
        os.chdir(spec["folder"])
        for name in spec["folders"]:
            os.makedirs(name, exist_ok=True)
        os.chdir(spec["folders"][0])
        seccomp.deny()
        with open(spec["command"][0], "rb"):
            os.write(1, READY)
        os.dup2(2, 1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execve(spec["command"][0], spec["command"], spec["environment"])
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    os._exit(1)


def _change_user(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


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
