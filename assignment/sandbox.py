"""Runs a command that nobody trusts, and watches from outside what it uses.

Clock, output, memory, processes and disk of the whole tree are looked at twenty times a second; at
a limit it ends as a whole. What it leaves is handed back by `isolation.inside`. How it is kept
apart from this machine is one of `isolation.ways`, chosen once, by trying it.
"""

import json
import os
import selectors
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assignment.isolation import ROOT, Job, Limits, other_libraries, probe
from assignment.isolation.inside import READY, kill_below, processes_below
from assignment.isolation.ways import BUBBLEWRAP, CONTAINER, NAMES, USER, WAYS, Way
from assignment.walk import files_below
from runtime.errors import MachineError, UserError
from runtime.streams import printable

SHOWN_BYTES = 20_000  # of the output, its beginning
POLL_SECONDS = 0.05
PATIENCE = 10  # seconds, for what was told to end
BLOCK = 512  # bytes, of st_blocks
SHORT_OF_MEMORY = "out of memory: the kernel ended it"
OTHERS = "disk use exceeded the limit of a submission, by unnamed files or by other programs"
WRITABLE = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # by everybody
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
PROBE = Path(probe.__file__).read_text(encoding="utf-8")
PROBE_SECONDS = 300  # for looking at files, once on a machine; what is likeliest comes first


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
    files: dict[str, bytes] = field(default_factory=dict)  # of those that it was to return


def choose(
    asked: str = "",
    hidden: Sequence[Path] = (),
    alone: bool = False,
    traces: Mapping[str, Any] | None = None,
) -> Isolation:
    """Return the first way that works here and hides answers and solution, found out by trying.

    Args:
        asked: the name of the only way to try; "": of any.
        hidden: folders that no student's code may open.
        alone: one submission is graded, not a class: only then another user is isolation enough,
            since users can leave notes for one another.
        traces: by what a solution is known, as `trees.traces` returns it, and folders to "skip".

    Raises:
        UserError: there is no way of this name.
        MachineError: none works; the message says why, of each.
    """
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
            trial = fault_of(isolation, hidden, traces)
            if not trial:
                return isolation
            fault = fault or trial
        faults.append(f"{way.name}: {fault}")
    raise MachineError(f"no sandbox works here ({'; '.join(faults)}); --unsafe grades without one")


def fault_of(
    isolation: Isolation,
    hidden: Sequence[Path] = (),
    traces: Mapping[str, Any] | None = None,
) -> str:
    """Return why a way of isolation will not do, "" if it runs Python and hides what it should.

    The folders `hidden` are looked for by name, the solution by what it says, wherever it lies.
    """
    if isolation.way is USER and not isolation.own_users:
        return "root as root is not kept from anything"
    # The other ways do not mount these.
    closed = [*hidden, *(other_libraries() if traces and isolation.way is USER else ())]
    paths = [str(folder.resolve()) for folder in closed]
    paths += [entry.path for folder in hidden for entry in files_below(folder.resolve())]
    spec = {"paths": paths, "skip": [], "seconds": PROBE_SECONDS, **(traces or {})}
    spec["folders"] = site.getsitepackages()
    with tempfile.TemporaryDirectory() as folder:
        user = FIRST_USER if isolation.own_users else None
        os.chmod(folder, 0o755)
        place, given = Path(folder, "run"), Path(folder, "given")
        place.mkdir()
        given.mkdir()
        (given / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        command = (sys.executable, "-SBc", PROBE, str(given / "spec.json"))
        limits = Limits(seconds=PROBE_SECONDS + 180, cpu_seconds=PROBE_SECONDS + 90)
        try:
            outcome = run(Job(command, place, limits, (given,), user), isolation)
        except (OSError, subprocess.CalledProcessError) as error:
            return str(error)
        except MachineError as error:
            return str(error).removeprefix(f"{isolation.name}: ")
    if outcome.exit_code or outcome.stopped:
        return f"{outcome.stopped} {outcome.output[-200:]}".strip()
    found = json.loads(outcome.output.splitlines()[-1])
    if path := found["found"]:
        what = "open" if path in paths else "read the solution in"
        if what == "open" and Path(path) in other_libraries():
            return (
                f"students' code can import {path}; on a machine that is thrown away, run "
                "python -m assignment.isolation.image"
            )
        return f"students' code can {what} {path}; chmod -R go-rwx its folder, or move it"
    if found["late"]:
        seconds = f"{PROBE_SECONDS} s were too short to look at all"
        print(f"note: {seconds} files that students' code can read here", file=sys.stderr)
    return ""


def run(job: Job, isolation: Isolation, stop: threading.Event | None = None) -> Outcome:
    """Run a command.

    Its environment is fixed and small, its home and its temporary files lie in folder/scratch.
    When `stop` is set, it ends.

    Raises:
        OSError: the folder cannot be used, or no process can be started.
        MachineError: the sandbox did not start, or the machine ran out of memory or of disk.
    """
    folder = job.folder.resolve()
    in_container = isolation.way is CONTAINER
    in_memory = isolation.way in (CONTAINER, BUBBLEWRAP)
    if job.user is not None:
        os.chown(folder, job.user, job.user)
    limits = job.limits.of_a_process()
    if job.user is not None and not in_container:
        limits["RLIMIT_NPROC"] = job.limits.processes  # of this user, who runs nothing else
    scratch = str(folder / "scratch")
    spec = {
        "command": job.command,
        "folder": str(folder),
        "folders": list(dict.fromkeys(["scratch", *map(os.path.dirname, job.returns)])),
        "returns": job.returns,
        "most": job.limits.answer_bytes,
        "environment": ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch},
        "limits": limits,
        "files": job.limits.files if in_memory else 0,
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
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    places = (str(folder), *WRITABLE) if isolation.way is USER else ()
    free = {place: _free(place) for place in places}
    on_disk = None if in_memory else folder
    watch = _Watch(process, on_disk, job.limits, stop or threading.Event(), free)
    try:
        watch.until_the_end(start + job.limits.seconds)
    finally:
        _kill(process)
        if isolation.way is USER:
            _sweep(job.user)
    if watch.exceeded == OTHERS:
        raise MachineError(f"{folder}: {OTHERS}; see who fills it, and grade again")
    output = watch.output.decode("utf-8", "replace")
    if not watch.handed_back.startswith(READY):
        fault = " ".join(output.split())
        raise MachineError(f"{isolation.name}: the sandbox does not start ({fault[-300:]})")
    files, code, used_up = _handed_back(bytes(watch.handed_back[len(READY) :]), job.returns)
    stopped = watch.exceeded or used_up
    killed = code == 128 + signal.SIGKILL and not stopped
    # A process that kills itself is no want of memory.
    if killed and _out_of_memory_kills() > watch.kills:
        stopped = SHORT_OF_MEMORY
        if not in_container:  # whose limit the kernel keeps
            raise MachineError(
                "this machine ran out of memory; end other programs, or fewer --jobs"
            )
    return Outcome(code, time.monotonic() - start, stopped, output, files)


def _handed_back(stream: bytes, names: Sequence[str]) -> tuple[dict[str, bytes], int, str]:
    """Return the files that `isolation.inside` wrote, the exit code, and what was used up.

    A student's process may have written to it, too: of that nothing is an error.
    """
    files: dict[str, bytes] = {}
    code, used_up = 128 + signal.SIGKILL, ""
    while stream:
        line, _, stream = stream.partition(b"\n")
        try:
            first, second = json.loads(line)
            if first in names:
                files[first], stream = stream[: int(second)], stream[int(second) :]
            else:
                code, used_up = int(first), printable(str(second))[:80]
        except (ValueError, TypeError, OverflowError, RecursionError):
            break
    return files, code, used_up


@dataclass
class _Watch:
    """Reads what a process writes and looks after what its whole tree uses."""

    process: "subprocess.Popen[bytes]"
    folder: Path | None  # the only place to write, where it is on this machine's disk
    limits: Limits
    stop: threading.Event
    free: dict[str, int]  # place -> bytes that were free on its disk, if that is to be watched
    output: bytearray = field(default_factory=bytearray)
    handed_back: bytearray = field(default_factory=bytearray)
    written: int = 0
    exceeded: str = ""
    kills: int = field(default_factory=lambda: _out_of_memory_kills())

    def until_the_end(self, deadline: float) -> None:
        """Watch until the process has ended; end it when it has used up what it may."""
        next_look = 0.0
        with selectors.DefaultSelector() as selector:
            assert self.process.stdin and self.process.stdout and self.process.stderr
            for pipe in (self.process.stdout, self.process.stderr):
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(POLL_SECONDS):
                    if not self._read(key.fd, key.fileobj is self.process.stdout):
                        selector.unregister(key.fileobj)
                now = time.monotonic()
                if now < next_look:
                    continue
                next_look = now + POLL_SECONDS
                if self.exceeded and now > deadline:
                    return
                if not self.exceeded and (used_up := self._look(late=now > deadline)):
                    self.exceeded, deadline = used_up, now + PATIENCE
                    self.process.stdin.close()  # upon which `isolation.inside` ends everything

    def _read(self, handle: int, handed_back: bool) -> bool:
        """Read what is there; return whether there may be more."""
        chunk = os.read(handle, 1 << 16)
        if handed_back:
            self.handed_back += chunk
            if len(self.handed_back) > 2 * self.limits.disk_bytes:  # no honest `inside` wrote it
                return False
        else:
            self.written += len(chunk)
            self.output += chunk[: SHOWN_BYTES - len(self.output)]
        return bool(chunk)

    def _look(self, late: bool) -> str:
        """Return what is used up, "" if nothing."""
        if self.stop.is_set():
            return "patience of whoever grades"
        if late or self.written > self.limits.output_bytes:
            return "seconds" if late else "output"
        tree = processes_below(self.process.pid)
        if len(tree) > self.limits.processes:
            return "processes"
        if sum(map(_memory, tree)) > self.limits.memory:
            return "memory"
        if self.folder and _is_too_much(self.folder, self.limits):
            return "disk"
        # Files without a name, and those elsewhere, are not seen in its folder.
        lost = (free - _free(place) for place, free in self.free.items())
        return OTHERS if max(lost, default=0) > self.limits.disk_bytes else ""


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


def _is_too_much(folder: Path, limits: Limits) -> bool:
    """Return whether the files of a folder are too many or too large."""
    total = 0
    for count, entry in enumerate(files_below(folder), 1):
        try:
            total += entry.stat(follow_symlinks=False).st_blocks * BLOCK
        except OSError:  # deleted meanwhile
            continue
        if count > limits.files or total > limits.disk_bytes:
            return True
    return False


def _free(place: str) -> int:
    """Return the bytes that are free on a place's disk, 0 where it is not there."""
    try:
        disk = os.statvfs(place)
    except OSError:
        return 0
    return disk.f_bfree * disk.f_frsize


def _sweep(user: int | None) -> None:
    """Delete what a student's user left where everybody may write."""
    places = [place for place in WRITABLE if os.path.isdir(place)]
    words = ["find", *places, "-xdev", "-depth", "-user", str(user), "-delete"]
    subprocess.run(words, capture_output=True, check=False)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process with all that it started."""
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        kill_below(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.close()
    process.stderr.close()
