"""How a command is kept apart from this machine: a container, bubblewrap, or another user.

In the first two it has a file system of its own: `Job.visible` is mounted to read, with nothing
where `Job.covered` says, and `Job.folder` is memory of a fixed size, the only place to write. The
third one mounts nothing: it is for a machine that is thrown away after one submission, as
Gradescope's are, and whose answers only root can open. `inside`, the command line that each way
runs, is `isolation.inside` in all of them: it gives up system calls and resources.
"""

import os
import resource
import shutil
import stat
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assignment.isolation import DEVICES, ROOT, Job

IMAGE = "minbert-empty"
EMPTY_TAR = bytes(10240)
NOBODY = "65534"
# Not PATH, in which whoever grades may have folders that others write to.
PROGRAMS = "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/run/current-system/sw/bin"


@dataclass(frozen=True)
class Way:
    """One way to keep a command apart."""

    name: str  # as `--sandbox` takes it
    missing: Callable[[], str]  # returns why this machine does not have it, "" if it has
    wrap: Callable[[Job, Sequence[str]], list[str]]  # the command line that runs `inside` in it


def _in_container(job: Job, inside: Sequence[str]) -> list[str]:
    """Docker or Podman: a fresh container for each run, with the engine's own filter.

    Its image is empty. All that it has are the folders that are mounted, this machine's Python
    among them: no image must be built, and the student's code runs on the reference's libraries.
    """
    limits = job.limits
    owner = (os.geteuid(), os.getegid()) if job.user is None else (job.user, job.user)
    words = [*_engine(), "run", "--rm", "--interactive", "--network=none", "--read-only"]
    words += ["--cap-drop=ALL", "--security-opt=no-new-privileges", f"--workdir={ROOT}"]
    words += [f"--user={owner[0]}:{owner[1]}", f"--pids-limit={limits.processes}"]
    words += [f"--memory={limits.memory}", f"--memory-swap={limits.memory}"]
    for name in ("nofile", "nproc"):  # Podman would raise them
        most = min(4096, resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1])
        words.append(f"--ulimit={name}={most}:{most}")
    for path in job.visible:
        if not path.startswith(("/proc/", "/sys/")):  # engines have their own
            words.append(f"--volume={path}:{path}:ro")
    # What is on this machine in the job's folder stays empty.
    words += [f"--volume={job.folder}:{path}:ro" for path in job.covered]
    words += [f"--volume={file}:{path}:ro" for path, file in job.replaced.items()]
    words.append(f"--tmpfs={job.folder}:rw,size={limits.disk_bytes},mode=1777")
    if Path(words[0]).name == "podman":
        empty = job.folder.with_name(f"{job.folder.name}.root")
        empty.mkdir(exist_ok=True)
        return [*words, "--rootfs", str(empty), *inside]
    _import_empty(words[0])
    return [*words, IMAGE, *inside]


@cache
def _engine() -> list[str]:
    """Return the command line of an engine that runs, [] without one."""
    for engine in ("docker", "podman"):
        if not untrusted(engine):
            path = str(shutil.which(engine, path=PROGRAMS))
            done = subprocess.run([path, "info"], capture_output=True, check=False)
            if done.returncode == 0:
                other = engine == "podman" and not shutil.which("crun") and shutil.which("runc")
                return [path, "--runtime=runc"] if other else [path]
    return []


@cache
def _import_empty(engine: str) -> None:
    subprocess.run([engine, "import", "-", IMAGE], input=EMPTY_TAR, capture_output=True, check=True)


def untrusted(program: str) -> str:
    """Return why a program of PROGRAMS cannot be trusted to keep others out, "" if it can."""
    found = shutil.which(program, path=PROGRAMS)
    if found is None:
        return f"{program} is in none of {PROGRAMS}"
    path = Path(found).resolve()
    for place in (path, *path.parents):
        status = place.stat()
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_uid not in (0, os.geteuid()):
            return f"{place} can be changed by others than root; chmod go-w it"
    return ""


def _in_bubblewrap(job: Job, inside: Sequence[str]) -> list[str]:
    """bubblewrap: namespaces, and a root folder of what is needed alone.

    With a user id of its own (root that may make namespaces) `inside` changes to it; without, it
    looks like nobody, and is whoever grades.
    """
    words = [str(shutil.which("bwrap", path=PROGRAMS)), "--unshare-cgroup-try", "--unshare-uts"]
    words += ["--unshare-pid", "--unshare-net", "--unshare-ipc"]
    words += ["--die-with-parent", "--as-pid-1", "--chdir", str(ROOT)]
    if job.user is None:
        words += ["--unshare-user", "--uid", NOBODY, "--gid", NOBODY]
    else:
        for capability in ("SETUID", "SETGID", "KILL"):
            words += ["--cap-add", f"CAP_{capability}"]
    folder = str(job.folder)
    # The folders around what is mounted, which would be made for root alone.
    mounted = [*job.visible, *DEVICES, folder]
    for around in sorted({str(around) for path in mounted for around in Path(path).parents}):
        words += ["--dir", around]
    for path in job.visible:
        words += ["--ro-bind", path, path]
    for path in job.covered:
        words += ["--tmpfs", path, "--remount-ro", path]
    for path, file in job.replaced.items():
        words += ["--ro-bind", file, path]
    for path in DEVICES:
        words += ["--dev-bind", path, path]
    words += ["--perms", "1777", "--size", str(job.limits.disk_bytes), "--tmpfs", folder]
    words += ["--remount-ro", "/"]
    return [*words, "--", *inside]


CONTAINER = Way(
    "container",
    lambda: "" if _engine() else "no docker or podman owned by root runs here",
    _in_container,
)
BUBBLEWRAP = Way(
    "bubblewrap",
    lambda: untrusted("bwrap"),
    _in_bubblewrap,
)
USER = Way(
    "user",
    lambda: "" if os.geteuid() == 0 else "only root can run code as another user",
    lambda job, inside: [*inside],  # which changes to job.user itself
)
WAYS = (CONTAINER, BUBBLEWRAP, USER)  # the best first
NAMES = tuple(way.name for way in WAYS)
