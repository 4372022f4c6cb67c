"""The first program in a sandbox: gives up all it can, then becomes the student's command.

`python -S -m assignment.jail SPEC` is started by sandbox.run, never by hand. Each layer that this
machine refuses is reported and not fatal. The report is sent before any line of the student runs,
so it cannot be forged. Standard library only: it must start in milliseconds.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from assignment import landlock, process_tree

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = (
    0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
PRIVATE, RECURSIVE, BIND, DETACH = 1 << 18, 1 << 14, 1 << 12, 2
PR_SET_DEATH_SIGNAL, PR_DROP_CAPABILITY, PR_SET_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
CAPABILITIES = 41  # of Linux 5.9 and later
WRITABLE_DEVICES = ("/dev/null",)

Layers = dict[str, str]  # name -> "" if it holds, otherwise why not


def main() -> NoReturn:
    """Apply the layers, report them, run the command; exit as it did (128 + n for signal n)."""
    spec = json.loads(sys.argv[1])
    layers: Layers = {}
    _namespaces(layers, spec)
    _prctl(PR_SET_SUBREAPER, 1, layers)
    child = os.fork()  # the first process of the new process namespace, which ends with it
    if child == 0:
        _become(spec, layers)
    os.close(spec["report"])
    _, status, usage = os.wait4(child, 0)
    # Without a process namespace, what the command left behind has become a child of this process.
    process_tree.kill_below(os.getpid())
    _wait_for_all()
    code = os.waitstatus_to_exitcode(status)
    # At the limit comes SIGKILL, which does not tell its cause. The kernel counts whole ticks of a
    # busy machine as the command's, hence the half; SIGXCPU would not do, as the first process of
    # a namespace ignores it.
    spent = usage.ru_utime + usage.ru_stime
    if code == -signal.SIGKILL and spent >= spec["limits"]["RLIMIT_CPU"] / 2:
        code = -signal.SIGXCPU
    os._exit(code if code >= 0 else 128 - code)


def _wait_for_all() -> None:
    """Return when no child is left: a kill takes a moment on a busy machine."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def _become(spec: dict[str, Any], layers: Layers) -> NoReturn:
    """Apply what concerns this process alone, and replace it by the command."""
    try:
        _attempt(layers, "limits", lambda: _limit(spec["limits"]))
        if os.geteuid() == 0:
            _attempt(layers, "no capabilities", _drop_capabilities)
        _attempt(layers, "own user", lambda: _change_user(spec["user"], layers))
        _attempt(layers, "process limit", lambda: _limit_processes(spec["processes"], layers))
        # After the change of user, which clears it; before the report, so that it always holds.
        _prctl(PR_SET_DEATH_SIGNAL, signal.SIGKILL, layers)
        _prctl(PR_SET_NO_NEW_PRIVS, 1, layers, "no new privileges")
        writes = (*spec["writes"], *WRITABLE_DEVICES)
        os.umask(0o077)
        os.chdir(spec["folder"])
        _attempt(layers, "landlock", lambda: landlock.restrict(spec["reads"], writes))
        layers["landlock TCP"] = layers["landlock"]
        if not layers["landlock"] and landlock.abi() < landlock.TCP_SINCE:
            layers["landlock TCP"] = f"ABI {landlock.abi()}, TCP needs 4"
        with os.fdopen(spec["report"], "w") as report:
            json.dump(layers, report)
        os.execve(spec["command"][0], spec["command"], spec["environment"])
    except BaseException as error:
        print(f"the sandbox could not start the command: {error}", file=sys.stderr, flush=True)
        os._exit(127)


def _attempt(layers: Layers, name: str, apply: Callable[[], object]) -> None:
    try:
        apply()
        layers[name] = ""
    except (OSError, ValueError, AttributeError) as error:
        layers[name] = str(error)


def _namespaces(layers: Layers, spec: dict[str, Any]) -> None:
    """Leave this machine's network, processes and shared memory behind."""
    if os.geteuid() != 0:  # without root, only a user namespace of one's own allows the others
        user, group = os.geteuid(), os.getegid()
        _attempt(layers, "user namespace", lambda: _own_namespace(user, group))
    for name, flag in (("network", NEW_NETWORK), ("process", NEW_PIDS), ("IPC", NEW_IPC)):
        _attempt(layers, f"{name} namespace", partial(_unshare, flag))
    if spec["reopened"]:
        _attempt(layers, "mount namespace", lambda: _reopen(spec["reopened"]))


def _own_namespace(user: int, group: int) -> None:
    _unshare(NEW_USER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _reopen(private: dict[str, list[str]]) -> None:
    """Show of folders that only root may enter the given folders inside, and nothing else."""
    _unshare(NEW_MOUNTS)
    _mount(None, "/", None, PRIVATE | RECURSIVE)
    handles = {path: os.open(path, os.O_PATH) for inside in private.values() for path in inside}
    try:
        for folder in private:
            _mount("tmpfs", folder, "tmpfs", 0, "mode=755,size=64k")
        for path, handle in handles.items():
            os.makedirs(path, mode=0o755, exist_ok=True)
            _mount(f"/proc/self/fd/{handle}", path, None, BIND | RECURSIVE)
            os.close(handle)
    except OSError:
        for folder in private:  # as it was, or Python itself would be out of reach
            ctypes.CDLL(None).umount2(folder.encode(), DETACH)
        raise


def _limit(limits: dict[str, int]) -> None:
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, name), (most, most))


def _change_user(user: int | None, layers: Layers) -> None:
    if user is None:
        raise OSError("not run as root")
    if layers.get("mount namespace"):
        raise OSError("Python lies in a folder that only root may enter")
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _drop_capabilities() -> None:
    """Take from root what is more than its files; it holds from the command's start on."""
    library = ctypes.CDLL(None, use_errno=True)
    for capability in range(CAPABILITIES):
        _checked(library.prctl(PR_DROP_CAPABILITY, ctypes.c_ulong(capability), 0, 0, 0))


def _limit_processes(most: int, layers: Layers) -> None:
    # The kernel counts all processes of a user, and does not count those of root.
    if layers["own user"] and layers.get("user namespace", "root"):
        raise OSError("no user of its own to count for; counted from outside")
    _limit({"RLIMIT_NPROC": most})


def _unshare(flags: int) -> None:
    _checked(ctypes.CDLL(None, use_errno=True).unshare(flags))


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = [one.encode() if one is not None else None for one in (source, target, kind)]
    library = ctypes.CDLL(None, use_errno=True)
    _checked(library.mount(*words, ctypes.c_ulong(flags), data.encode()))


def _prctl(option: int, value: int, layers: Layers, name: str = "killed as a whole") -> None:
    library = ctypes.CDLL(None, use_errno=True)
    zeros = [ctypes.c_ulong(0)] * 3
    _attempt(layers, name, lambda: _checked(library.prctl(option, ctypes.c_ulong(value), *zeros)))


def _checked(result: int) -> None:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


if __name__ == "__main__":
    main()
