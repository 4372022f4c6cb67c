"""How a command is kept apart from this machine: a container, bubblewrap, or another user.

In the first two it has a file system of its own, in which `Job.visible` is mounted to read and
`Job.folder` to write, and nothing else is there. The third one mounts nothing: it is for a machine
that is thrown away after one submission, as Gradescope's are, and whose answers only root can open.
`inside`, the command line that each way runs, is `isolation.inside` in all of them: it gives up
system calls and resources.
"""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assignment.isolation import DEVICES, ROOT, Job

IMAGE = "minbert-empty"
EMPTY_TAR = bytes(10240)
NOBODY = "65534"


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
    words.append(f"--volume={job.folder}:{job.folder}")
    if words[0] == "podman":
        empty = job.folder.with_name(f"{job.folder.name}.root")
        empty.mkdir(exist_ok=True)
        return [*words, "--rootfs", str(empty), *inside]
    _import_empty(words[0])
    return [*words, IMAGE, *inside]


@cache
def _engine() -> list[str]:
    """Return the command line of an engine that runs, [] without one."""
    for engine in ("docker", "podman"):
        if shutil.which(engine):
            done = subprocess.run([engine, "info"], capture_output=True, check=False)
            if done.returncode == 0:
                other = engine == "podman" and not shutil.which("crun") and shutil.which("runc")
                return [engine, "--runtime=runc"] if other else [engine]
    return []


@cache
def _import_empty(engine: str) -> None:
    subprocess.run([engine, "import", "-", IMAGE], input=EMPTY_TAR, capture_output=True, check=True)


def _in_bubblewrap(job: Job, inside: Sequence[str]) -> list[str]:
    """bubblewrap: namespaces, and a root folder of what is needed alone.

    With a user id of its own (root that may make namespaces) `inside` changes to it; without, it
    looks like nobody, and is whoever grades.
    """
    words = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--chdir", str(ROOT)]
    if job.user is None:
        words += ["--unshare-user", "--uid", NOBODY, "--gid", NOBODY]
    else:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    folder = str(job.folder)
    # The folders around what is mounted, which would be made for root alone.
    mounted = [*job.visible, *DEVICES, folder]
    for around in sorted({str(around) for path in mounted for around in Path(path).parents}):
        words += ["--dir", around]
    for path in job.visible:
        words += ["--ro-bind", path, path]
    for path in DEVICES:
        words += ["--dev-bind", path, path]
    words += ["--bind", folder, folder, "--remount-ro", "/"]
    return [*words, "--", *inside]


CONTAINER = Way(
    "container",
    lambda: "" if _engine() else "neither docker nor podman runs here",
    _in_container,
)
BUBBLEWRAP = Way(
    "bubblewrap",
    lambda: "" if shutil.which("bwrap") else "bwrap is not installed",
    _in_bubblewrap,
)
USER = Way(
    "user",
    lambda: "" if os.geteuid() == 0 else "only root can run code as another user",
    lambda job, inside: [*inside],  # which changes to job.user itself
)
WAYS = (CONTAINER, BUBBLEWRAP, USER)  # the best first
NAMES = tuple(way.name for way in WAYS)
