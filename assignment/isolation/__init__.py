"""What a sandboxed command may use and see, and (in `ways`) how it is kept apart from the rest.

Standard library only: this package is imported in the sandbox, too.
"""

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEGABYTE = 2**20
# What Python and torch read besides the interpreter's own folders. Nothing in here tells anything
# about this machine's users, and /proc is left out but for two files. Not /dev/zero: mapped as
# shared, it is memory that no process seems to hold.
SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)
DEVICES = ("/dev/null", "/dev/urandom")


@dataclass(frozen=True)
class Limits:
    """What a command may use; beyond it, it is stopped."""

    seconds: float = 120.0  # wall clock
    cpu_seconds: int = 60  # of each process
    address_space: int = 8192 * MEGABYTE  # of each process
    memory: int = 3072 * MEGABYTE  # resident or swapped out, all processes together
    processes: int = 64  # threads included
    file_bytes: int = 64 * MEGABYTE  # the largest file
    disk_bytes: int = 256 * MEGABYTE  # all files together
    files: int = 4096
    open_files: int = 256
    output_bytes: int = 4 * MEGABYTE  # stdout and stderr together

    def of_a_process(self) -> dict[str, int]:
        """Return the resource limits that the kernel keeps, by their names in `resource`."""
        return {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.address_space,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 0,
        }


@dataclass(frozen=True)
class Job:
    """A command for a sandbox."""

    command: tuple[str, ...]  # the first word is an absolute path
    folder: Path  # the only place to write; exists
    limits: Limits
    reads: tuple[Path, ...] = ()  # folders to read, besides Python and the system's libraries
    user: int | None = None  # run as root: the user id that it gets; one per command at a time

    @property
    def visible(self) -> list[str]:
        """Return all folders and files that it may read, but for its own folder.

        The last ones are what `isolation.inside` itself is read from.
        """
        python = [sys.prefix, sys.base_prefix, sysconfig.get_paths()["platlib"]]
        given = [str(path.resolve()) for path in self.reads]
        # A folder within another one is there already.
        outer: list[str] = []
        for path in sorted({*python, *given, *filter(os.path.exists, SYSTEM)}):
            if not any(Path(path).is_relative_to(around) for around in outer):
                outer.append(path)
        package = Path(__file__).parent
        return [*outer, str(package.parent / "__init__.py"), str(package)]
