"""The first program in a sandbox: gives up all it can, then becomes the student's command.

`python -S -m assignment.jail SPEC` is started by sandbox.run, never by hand. Each layer that this
machine refuses is reported and not fatal. The report is sent before any line of the student runs,
so it cannot be forged. Standard library only: it must start in milliseconds.

Landlock, by which a process gives up files and TCP for good, are three system calls of Linux 5.13
and later, made through ctypes: the C library has no names for them. What a kernel can restrict is
its ABI version; newer rights are asked for only where known. Source: the kernel's
Documentation/userspace-api/landlock.rst, and landlock(7).
"""

import ctypes
import json
import os
import resource
import signal
import stat
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

NEW_MOUNTS, NEW_IPC, NEW_USER = 0x00020000, 0x08000000, 0x10000000
NEW_PIDS, NEW_NETWORK = 0x20000000, 0x40000000
PRIVATE, RECURSIVE, BIND, DETACH = 1 << 18, 1 << 14, 1 << 12, 2
PR_SET_DEATH_SIGNAL, PR_DROP_CAPABILITY, PR_SET_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
CAPABILITIES = 41  # of Linux 5.9 and later
WRITABLE_DEVICES = ("/dev/null",)

# Landlock's system calls: the same numbers on every architecture (Alpha apart).
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_FOR_VERSION = 1
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << n for n in range(6))
MAKE_DIR, MAKE_REGULAR = 1 << 7, 1 << 8
REFER, TRUNCATE = 1 << 13, 1 << 14
READ = EXECUTE | READ_FILE | READ_DIR
# No links, sockets, pipes or devices: plain files and folders are all that an answer needs.
MAKE = MAKE_DIR | MAKE_REGULAR | REMOVE_DIR | REMOVE_FILE | REFER
WRITE = WRITE_FILE | READ_FILE | READ_DIR | TRUNCATE | MAKE
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # the others have a meaning for folders
# ABI -> how many of the rights to files it knows; the newest known here applies to later ABIs.
KNOWN_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
TCP_SINCE, BIND_AND_CONNECT = 4, 0b11
SCOPES_SINCE, ABSTRACT_SOCKETS_AND_SIGNALS = 6, 0b11

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
    kill_below(os.getpid())
    try:
        while True:  # a kill takes a moment on a busy machine
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    code = os.waitstatus_to_exitcode(status)
    # At the limit comes SIGKILL, which does not tell its cause. The kernel counts whole ticks of a
    # busy machine as the command's, hence the half; SIGXCPU would not do, as the first process of
    # a namespace ignores it.
    spent = usage.ru_utime + usage.ru_stime
    if code == -signal.SIGKILL and spent >= spec["limits"]["RLIMIT_CPU"] / 2:
        code = -signal.SIGXCPU
    os._exit(code if code >= 0 else 128 - code)


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
        _attempt(layers, "landlock", lambda: restrict(spec["reads"], writes))
        layers["landlock TCP"] = layers["landlock"]
        if not layers["landlock"] and abi() < TCP_SINCE:
            layers["landlock TCP"] = f"ABI {abi()}, TCP needs 4"
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
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


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


def _checked(result: int) -> int:
    """Return what the C library returned; raise OSError where it says that it failed."""
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


class _Ruleset(ctypes.Structure):
    """struct landlock_ruleset_attr."""

    _fields_ = (
        ("files", ctypes.c_uint64),
        ("tcp", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    """struct landlock_path_beneath_attr, which is packed."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Return the version of this kernel's Landlock, 0 without it."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return _call(CREATE_RULESET, None, 0, ASK_FOR_VERSION)
    except OSError:
        return 0


def restrict(reads: Iterable[str], writes: Iterable[str]) -> int:
    """Deny this process and its children all files but those below the given paths.

    From ABI 4 on also TCP, from ABI 6 on signals to processes outside and abstract Unix sockets.
    `no_new_privs` must be set before.

    Args:
        reads: files and folders to read and execute; those that do not exist are left out.
        writes: folders to write plain files and folders in, and devices as /dev/null.

    Returns:
        the ABI.

    Raises:
        OSError: the kernel has no Landlock, or refuses.
    """
    version = abi()
    if not version:
        raise OSError("this kernel has no Landlock")
    known = (1 << KNOWN_RIGHTS[min(version, max(KNOWN_RIGHTS))]) - 1
    ruleset = _Ruleset(known)
    if version >= TCP_SINCE:
        ruleset.tcp = BIND_AND_CONNECT
    if version >= SCOPES_SINCE:
        ruleset.scopes = ABSTRACT_SOCKETS_AND_SIGNALS
    handle = _call(CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    try:
        for paths, rights in ((reads, READ), (writes, WRITE)):
            for path in paths:
                _allow(handle, path, rights & known)
        _call(RESTRICT_SELF, handle, 0)
    finally:
        os.close(handle)
    return version


def _allow(handle: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= OF_A_FILE
        rule = _PathBeneath(rights, place)
        _call(ADD_RULE, handle, RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    """Make a system call."""
    # Whole numbers travel as C longs: as ints, half of their register would be undefined.
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))


def processes_below(process: int) -> list[int]:
    """Return the ids of all that a process started, directly or not; [] without /proc."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        # Each thread has children of its own.
        lists = Path(f"/proc/{waiting.pop()}/task").glob("*/children")
        try:
            children = [int(word) for path in lists for word in path.read_text().split()]
        except OSError:  # it has ended meanwhile
            continue
        found += children
        waiting += children
    return found


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
