"""Runs a command that nobody trusts, and watches from outside what it uses.

Clock, output, memory, processes and disk of the whole tree are looked at twenty times a second; at
a limit it ends as a whole. How it is kept apart from this machine is one of `isolation.ways`,
chosen once, by trying it.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assignment.isolation import ROOT, Job, Limits
from assignment.isolation.inside import READY, kill_below, processes_below
from assignment.isolation.ways import CONTAINER, NAMES, USER, WAYS, Way
from assignment.walk import files_below
from runtime.errors import MachineError, UserError

SHOWN_BYTES = 20_000  # of the output, its beginning
POLL_SECONDS = 0.05
PATIENCE = 10  # seconds, for what was told to end
BLOCK = 512  # bytes, of st_blocks
SHORT_OF_MEMORY = "memory: the kernel ended it"
UNSAFE = "none"
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
# Neither people nor services have ids in this range of systemd's conventions; two graders at a time
# seldom take the same, whose processes would count together.
FIRST_USER = 60706 + os.getpid() % 13 * 16
# Prints the first path of a list that it can open.
OPEN = """
import json, os
for path in json.load(open("../paths.json")):
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        continue
    print(path)
    break
"""


@dataclass(frozen=True)
class Isolation:
    """How commands are kept apart from this machine."""

    name: str  # of the way, "none" without one
    own_users: bool = False  # each command has a user id of its own, as root can give it

    @property
    def way(self) -> Way | None:
        return next((way for way in WAYS if way.name == self.name), None)


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit_code: int  # 128 + n if signal n ended it
    seconds: float  # wall clock
    stopped: str  # what was used up, as "seconds" or "memory"; "" if it ended by itself
    output: str  # the beginning of stdout and stderr


def choose(asked: str = "", hidden: Sequence[Path] = (), alone: bool = False) -> Isolation:
    """Return the first way that works here and hides the answers, found out by trying.

    Args:
        asked: the name of the only way to try; "": of any.
        hidden: folders that no student's code may open.
        alone: one submission is graded, not a class: only then another user is isolation enough,
            since users can leave notes for one another.

    Raises:
        UserError: there is no way of this name.
        MachineError: none works; the message says why, of each.
    """
    if asked == "Landlock":
        raise UserError(f"--sandbox Landlock is gone since 1.1: one of {', '.join(NAMES)}")
    if asked and asked not in NAMES:
        raise UserError(f"--sandbox {asked}: unknown; one of {', '.join(NAMES)}")
    faults = []
    for way in WAYS:
        if asked not in ("", way.name):
            continue
        fault = way.missing()
        if way is USER and not (fault or alone):
            fault = "marks a single submission only (--single)"
        for own_users in () if fault else (True, False) if os.geteuid() == 0 else (False,):
            isolation = Isolation(way.name, own_users)
            trial = fault_of(isolation, hidden)
            if not trial:
                return isolation
            fault = fault or trial
        faults.append(f"{way.name}: {fault}")
    raise MachineError(f"no sandbox works here ({'; '.join(faults)}); --unsafe grades without one")


def fault_of(isolation: Isolation, hidden: Sequence[Path] = ()) -> str:
    """Return why a way of isolation will not do, "" if it runs Python and hides `hidden`."""
    if isolation.way is USER and not isolation.own_users:
        return "root as root is not kept from anything"
    paths = [str(folder.resolve()) for folder in hidden]
    paths += [entry.path for folder in paths for entry in files_below(folder)]
    with tempfile.TemporaryDirectory() as folder:
        user = FIRST_USER if isolation.own_users else None
        os.chmod(folder, 0o755)
        place = Path(folder, "run")
        place.mkdir()
        (place / "paths.json").write_text(json.dumps(paths), encoding="utf-8")
        job = Job((sys.executable, "-SBc", OPEN), place, Limits(), user=user)
        try:
            outcome = run(job, isolation)
        except (OSError, subprocess.CalledProcessError) as error:
            return str(error)
        except MachineError as error:
            return str(error).removeprefix(f"{isolation.name}: ")
    if outcome.exit_code or outcome.stopped:
        return outcome.output[:200]
    if opened := outcome.output.strip():
        return f"students' code can open {opened}; chmod -R go-rwx its folder, or move it"
    return ""


def run(job: Job, isolation: Isolation, stop: threading.Event | None = None) -> Outcome:
    """Run a command.

    Its environment is fixed and small, its home and its temporary files lie in folder/scratch.

    When `stop` is set, it ends.

    Raises:
        OSError: the folder cannot be used, or no process can be started.
        MachineError: the sandbox did not start, or the machine ran out of memory.
    """
    folder = job.folder.resolve()
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    if job.user is not None:
        for place in (folder, *folder.iterdir()):
            os.chown(place, job.user, job.user)
    in_container = isolation.way is CONTAINER
    limits = job.limits.of_a_process()
    if job.user is not None and not in_container:
        limits["RLIMIT_NPROC"] = job.limits.processes  # of this user, who runs nothing else
    spec = {
        "command": job.command,
        "folder": str(scratch),
        "environment": ENVIRONMENT | {"HOME": str(scratch), "TMPDIR": str(scratch)},
        "limits": limits,
        "seconds": job.limits.seconds,
        "user": None if in_container else job.user,
    }
    inside = [sys.executable, "-sSB", "-m", "assignment.isolation.inside", json.dumps(spec)]
    start = time.monotonic()
    process = subprocess.Popen(
        isolation.way.wrap(job, inside) if isolation.way else inside,
        cwd=folder if in_container else ROOT,  # Podman leaves a file where it is started
        env={**os.environ, **ENVIRONMENT} if in_container else ENVIRONMENT,
        # Nothing is written to it: its end tells `inside` that there is nobody any more.
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    watch = _Watch(process, folder, job.limits, stop or threading.Event())
    try:
        watch.until_the_end(start + job.limits.seconds)
    finally:
        _kill(process)
    before, ready, output = bytes(watch.output).partition(READY)
    if not ready:
        fault = " ".join(before.decode("utf-8", "replace").split())
        raise MachineError(f"{isolation.name}: the sandbox does not start ({fault[-300:]})")
    stopped = watch.stopped()
    if stopped == SHORT_OF_MEMORY and not in_container:  # whose limit the kernel keeps
        raise MachineError("this machine ran out of memory; end other programs, or fewer --jobs")
    seconds = time.monotonic() - start
    return Outcome(process.returncode, seconds, stopped, output.decode("utf-8", "replace"))


@dataclass
class _Watch:
    """Reads a process's output and looks after what its whole tree uses."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    limits: Limits
    stop: threading.Event
    output: bytearray = field(default_factory=bytearray)
    written: int = 0
    exceeded: str = ""
    kills: int = field(default_factory=lambda: _out_of_memory_kills())

    def until_the_end(self, deadline: float) -> None:
        """Watch until the process has ended or has used up what it may."""
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        os.set_blocking(handle, False)
        next_look = 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            while self.process.poll() is None and not self.exceeded:
                if not selector.get_map():  # it closed its output, and goes on
                    time.sleep(POLL_SECONDS)
                elif selector.select(POLL_SECONDS) and not self._read(handle):
                    selector.unregister(handle)
                now = time.monotonic()
                if self.stop.is_set():
                    self.exceeded = "patience of whoever grades"
                elif now > deadline:
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
        return SHORT_OF_MEMORY if killed and _out_of_memory_kills() > self.kills else ""

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
        tree = processes_below(self.process.pid)
        if len(tree) > self.limits.processes:
            return "processes"
        if sum(map(_memory, tree)) > self.limits.memory:
            return "memory"
        return _disk(self.folder, self.limits)


def _memory(process: int) -> int:
    """Return the memory that a process holds, in bytes; shared pages count for each.

    There is none beside it: `isolation.seccomp` refuses what makes memory that is not mapped.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    held = (line.split() for line in lines if line.startswith(("VmRSS:", "VmSwap:")))
    return sum(int(words[1]) * 1024 for words in held)


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
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()  # upon which `isolation.inside` ends everything
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        kill_below(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.close()
