"""System calls that a student's code needs as little as any honest program here: refused for good.

A filter of seccomp(2) is a program for the kernel's packet filter (BPF): instructions of eight
bytes, run at every system call on its number and arguments. Sources: the kernel's
Documentation/userspace-api/seccomp_filter.rst and linux/audit.h.
"""

import ctypes
import errno
import os
import platform
import struct

# Numbers on x86-64 and on 64-bit ARM.
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
REFUSED = {
    # To talk to anybody: the Internet, other programs, virtual machines (AF_VSOCK), the kernel.
    "socket": (41, 198),
    "socketpair": (53, 199),
    "io_uring_setup": (425, 425),
    # To hold memory, or leave notes, where no process seems to hold it.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # To leave signals for another process at a file that both see: locks, watches, and what of it
    # is in the page cache.
    "flock": (73, 32),
    "inotify_add_watch": (254, 27),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "fadvise64": (221, 223),
    "readahead": (187, 213),
    "preadv2": (327, 286),
    "mincore": (27, 232),
    "cachestat": (451, 451),
    # To take room on a disk faster than it can be seen.
    "fallocate": (285, 47),
    # To look into other processes, and into parts of the kernel that are seldom looked at.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    # To become root of a world of one's own.
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "fsopen": (430, 430),
}
# Number, argument, bits that are refused together: memory that is shared and of no file (it stays
# when it is mapped no longer), and a user namespace.
REFUSED_BITS = (((9, 222), 3, 0x21), ((56, 220), 0, 0x10000000))
# Number, argument, values that are refused: commands of fcntl for locks (of a process, of a
# handle), leases, and notes of changes.
FCNTL = (72, 25)
REFUSED_VALUES = ((FCNTL, 1, (5, 6, 7, 36, 37, 38, 1024, 1025, 1026)),)
CLONE3 = 435  # its arguments cannot be seen; the C library does without it where it is not there
FIRST_OF_X32 = 0x40000000  # the numbers of another table for the same calls
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # places in struct seccomp_data
LOAD, AND, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, MODE_FILTER = 22, 2
JOIN_SESSION_KEYRING = 1
KEYCTL = REFUSED["keyctl"]


def program(machine: str) -> bytes:
    """Return the filter for a kind of processor."""
    column, architecture = ARCHITECTURES[machine]
    refuse = (RETURN, 0, 0, ERROR | errno.EPERM)
    # Instruction, how many to skip if true, and if false, and the number it is about.
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 1, 0, architecture),
        refuse,
        (LOAD, 0, 0, NUMBER),
        (IF_AT_LEAST, 0, 1, FIRST_OF_X32),
        refuse,
        (IF_EQUAL, 0, 1, CLONE3),
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
    ]
    for numbers in REFUSED.values():
        steps += [(IF_EQUAL, 0, 1, numbers[column]), refuse]
    for numbers, argument, bits in REFUSED_BITS:
        steps += [(IF_EQUAL, 0, 5, numbers[column]), (LOAD, 0, 0, ARGUMENTS + 8 * argument)]
        steps += [(AND, 0, 0, bits), (IF_EQUAL, 0, 1, bits), refuse, (LOAD, 0, 0, NUMBER)]
    for numbers, argument, values in REFUSED_VALUES:
        tests = [step for value in values for step in ((IF_EQUAL, 0, 1, value), refuse)]
        steps += [(IF_EQUAL, 0, len(tests) + 2, numbers[column])]
        steps += [(LOAD, 0, 0, ARGUMENTS + 8 * argument), *tests, (LOAD, 0, 0, NUMBER)]
    return b"".join(struct.pack("HBBI", *step) for step in [*steps, (RETURN, 0, 0, ALLOW)])


def deny() -> None:
    """Refuse these calls to this process and to all that it starts; no_new_privs must be set."""
    steps = program(platform.machine())
    content = ctypes.create_string_buffer(steps, len(steps))
    described = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(content))
    words = [ctypes.c_ulong(MODE_FILTER), described, ctypes.c_ulong(0), ctypes.c_ulong(0)]
    checked(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, *words))


def new_keyring() -> None:
    """Leave the keys of whoever grades behind; where this is refused, so is all use of keys."""
    number = KEYCTL[ARCHITECTURES[platform.machine()][0]]
    words = [ctypes.c_long(number), ctypes.c_long(JOIN_SESSION_KEYRING), None]
    ctypes.CDLL(None).syscall(*words)


def checked(result: int) -> int:
    """Return what the C library returned; raise OSError where it says that it failed."""
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
