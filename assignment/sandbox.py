"""Runs a command that nobody trusts, in layers: what one of them misses, the next one stops.

The caller watches from outside: wall-clock time, output, memory, processes and disk of the whole
tree, and kills it as a whole. Inside, `assignment.jail` gives up rights before the command starts.
A machine need not have every layer; Outcome.layers says which held.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assignment import jail
from assignment.walk import files_below

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 2**20
SHOWN_BYTES = 20_000  # of the output, its beginning
POLL_SECONDS = 0.05
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
BLOCK = 512  # bytes, of st_blocks
# What Python and torch read besides the interpreter's own folders. Nothing in here tells anything
# about this machine's users, and /proc is left out but for two files.
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
    "/dev/null",
    "/dev/urandom",
    "/dev/zero",
)
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True)
class Limits:
    """What a command may use; beyond it, it is stopped."""

    seconds: float = 120.0  # wall clock
    cpu_seconds: int = 60  # of each process
    address_space: int = 8192 * MEGABYTE  # of each process
    memory: int = 3072 * MEGABYTE  # resident, all processes together
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
class Outcome:
    """How a command ended.

    Attributes:
        exit_code: 128 + n if signal n ended it.
        seconds: wall clock.
        stopped: what was used up, as "seconds" or "memory"; "" if it ended by itself.
        output: the beginning of stdout and stderr.
        layers: name -> "" if it held, otherwise why not.
    """

    exit_code: int
    seconds: float
    stopped: str
    output: str = field(repr=False)
    layers: dict[str, str]


def run(
    command: Sequence[str | Path],
    folder: Path,
    limits: Limits,
    reads: Sequence[Path] = (),
    user: int | None = None,
) -> Outcome:
    """Run a command that may read `reads`, Python and the system's libraries, and write `folder`.

    Its environment is fixed and small, its home and its temporary files lie in folder/scratch.

    Args:
        command: the first word is an absolute path.
        folder: the only place to write; exists.
        limits: what it may use.
        reads: folders.
        user: run as root: the user id that it gets; one per command at a time.

    Raises:
        OSError: the folder cannot be used, or no process can be started.
    """
    folder = folder.resolve()
    (folder / "scratch").mkdir(exist_ok=True)
    user = user if os.geteuid() == 0 else None
    if user is not None:
        for place in (folder, *folder.iterdir()):
            os.chown(place, user, user)
    report, far_end = os.pipe()
    scratch, own = str(folder / "scratch"), [str(path.resolve()) for path in reads]
    python = [sys.prefix, sys.base_prefix, sysconfig.get_paths()["platlib"]]
    spec = {
        "command": [str(word) for word in command],
        "folder": scratch,
        "environment": ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch},
        "limits": limits.of_a_process(),
        "processes": limits.processes,
        "reads": [*python, *own, *SYSTEM],
        "writes": [str(folder)],
        "user": user,
        "reopened": {} if user is None else _private([*python, *own, str(folder)], user),
        "report": far_end,
    }
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            [sys.executable, "-sSB", "-m", "assignment.jail", json.dumps(spec)],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[far_end],
        )
    finally:
        os.close(far_end)
    watch = _Watch(process, folder, limits)
    try:
        watch.until_the_end(start + limits.seconds)
    finally:
        _kill(process)
    with os.fdopen(report, "rb") as file:
        layers = json.loads(file.read() or b"{}")
    seconds = time.monotonic() - start
    output = bytes(watch.output).decode("utf-8", "replace")
    return Outcome(process.returncode, seconds, watch.stopped(), output, layers)


def _private(paths: Sequence[str], user: int) -> dict[str, list[str]]:
    """Return the folders that a user may not enter, with those of `paths` inside each."""
    found: dict[str, list[str]] = {}
    for path in dict.fromkeys(map(os.path.realpath, paths)):
        around = [one for one in (Path(path), *Path(path).parents) if one.is_dir()]
        closed = [one for one in around if not _may_enter(one, user)]
        if closed:
            found.setdefault(str(closed[-1]), []).append(path)
    return found


def _may_enter(folder: Path, user: int) -> bool:
    found = folder.stat()
    bit = 0o100 if found.st_uid == user else 0o010 if found.st_gid == user else 0o001
    return bool(found.st_mode & bit)


class _Watch:
    """Reads a process's output and looks after what its whole tree uses."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path, limits: Limits):
        self.process, self.folder, self.limits = process, folder, limits
        self.output = bytearray()
        self.written = 0
        self.exceeded = ""
        self.kills = _out_of_memory_kills()

    def until_the_end(self, deadline: float) -> None:
        """Return when the process has ended or has used up what it may."""
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        os.set_blocking(handle, False)
        next_look = 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            while self.process.poll() is None and not self.exceeded:
                if not selector.get_map():
                    time.sleep(POLL_SECONDS)
                elif selector.select(POLL_SECONDS) and not self._read(handle):
                    selector.unregister(handle)
                now = time.monotonic()
                if now > deadline:
                    self.exceeded = "seconds"
                elif now > next_look:
                    self.exceeded = self.exceeded or self._look()
                    next_look = time.monotonic() + POLL_SECONDS
        while self._read(handle) and not self.exceeded:
            pass

    def stopped(self) -> str:
        """Return what was used up, "" if nothing."""
        if self.exceeded or self.process.returncode == 128 + signal.SIGXCPU:
            return self.exceeded or "CPU seconds"
        killed = self.process.returncode == 128 + signal.SIGKILL
        # A process that kills itself is no want of memory.
        return "memory" if killed and _out_of_memory_kills() > self.kills else ""

    def _read(self, handle: int) -> bool:
        """Read what is there; return whether there may be more."""
        try:
            chunk = os.read(handle, 1 << 16)
        except BlockingIOError:
            return self.process.poll() is None
        self.written += len(chunk)
        self.output += chunk[: SHOWN_BYTES - len(self.output)]
        if self.written > self.limits.output_bytes:
            self.exceeded = "output"
        return bool(chunk)

    def _look(self) -> str:
        tree = jail.processes_below(self.process.pid)
        if len(tree) > self.limits.processes:
            return "processes"
        if sum(map(_resident, tree)) > self.limits.memory:
            return "memory"
        return _disk(self.folder, self.limits)


def _resident(process: int) -> int:
    """Return the memory that a process holds, in bytes; shared pages count for each."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def _out_of_memory_kills() -> int:
    """Return how many processes of this machine the kernel has killed for want of memory."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _disk(folder: Path, limits: Limits) -> str:
    """Return "disk" if the files of a folder are too many or too large, otherwise ""."""
    total = 0
    for count, entry in enumerate(files_below(folder), 1):
        try:
            total += entry.stat(follow_symlinks=False).st_blocks * BLOCK
        except OSError:  # deleted meanwhile
            continue
        if count > limits.files or total > limits.disk_bytes:
            return "disk"
    return ""


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process with all that it started."""
    if process.poll() is None:
        jail.kill_below(process.pid)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:  # nothing is left of it
        pass
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
