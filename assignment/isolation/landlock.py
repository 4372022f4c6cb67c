"""A user of its own and Landlock, by which a process gives up files for good: no namespaces needed.

Landlock are three system calls of Linux 5.13 and later, made through ctypes: the C library has no
names for them. What a kernel can restrict is its ABI version; newer rights are asked for only where
known. Source: the kernel's Documentation/userspace-api/landlock.rst, and landlock(7).
"""

import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Sequence

from assignment.isolation import DEVICES, Job
from assignment.isolation.seccomp import checked

NAME = "Landlock"
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
SCOPES_SINCE, SIGNALS = 6, 0b10


def missing() -> str:
    """Return why this machine does not have it, "" if it has."""
    version = abi()
    if not version:
        return "this kernel has no Landlock"
    if os.geteuid() != 0 and version < SCOPES_SINCE:
        return f"without root it takes ABI {SCOPES_SINCE}, which keeps signals; this is {version}"
    return ""


def wrap(job: Job, inside: Sequence[str]) -> list[str]:
    """Return a command line that runs `inside`, which calls `restrict` itself."""
    return [*inside]


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


def restrict(reads: Iterable[str], writes: Iterable[str]) -> None:
    """Deny this process and its children all files but those below the given paths.

    From ABI 6 on also signals to processes outside. `no_new_privs` must be set before.

    Args:
        reads: files and folders to read and execute; those that do not exist are left out.
        writes: folders to write plain files and folders in.

    Raises:
        OSError: the kernel has no Landlock, or refuses.
    """
    version = abi()
    if not version:
        raise OSError("this kernel has no Landlock")
    known = (1 << KNOWN_RIGHTS[min(version, max(KNOWN_RIGHTS))]) - 1
    ruleset = _Ruleset(known, 0, SIGNALS if version >= SCOPES_SINCE else 0)
    handle = _call(CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    try:
        for paths, rights in ((reads, READ), ((*writes, *DEVICES), WRITE)):
            for path in paths:
                _allow(handle, path, rights & known)
        _call(RESTRICT_SELF, handle, 0)
    finally:
        os.close(handle)


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
    return checked(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))
