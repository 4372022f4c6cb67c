"""Docker or Podman: a fresh container for each run, whose image is empty.

All that it has are the folders that are mounted, this machine's Python among them: no image must be
built, and the student's code runs on the same libraries as the reference's.
"""

import os
import resource
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

from assignment.isolation import ROOT, Job, inside_files

NAME = "container"
IMAGE = "minbert-empty"
EMPTY_TAR = bytes(10240)


def missing() -> str:
    """Return why this machine does not have it, "" if it has."""
    return "" if _engine() else "neither docker nor podman runs here"


def wrap(job: Job, inside: Sequence[str]) -> list[str]:
    """Return a command line that runs `inside` in a new container, with the engine's own filter."""
    limits = job.limits
    owner = (os.geteuid(), os.getegid()) if job.user is None else (job.user, job.user)
    words = [*_engine(), "run", "--rm", "--interactive", "--network=none", "--read-only"]
    words += ["--cap-drop=ALL", "--security-opt=no-new-privileges", f"--workdir={ROOT}"]
    words += [f"--user={owner[0]}:{owner[1]}", f"--pids-limit={limits.processes}"]
    words += [f"--memory={limits.memory}", f"--memory-swap={limits.memory}"]
    for name in ("nofile", "nproc"):  # Podman would raise them
        most = min(4096, resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1])
        words.append(f"--ulimit={name}={most}:{most}")
    for path in [*job.readable, *inside_files()]:
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
