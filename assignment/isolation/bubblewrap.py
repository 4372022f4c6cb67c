"""bubblewrap (`apt install bubblewrap`): namespaces, and a root folder of what is needed alone."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from assignment.isolation import DEVICES, ROOT, Job, inside_files

NAME = "bubblewrap"
NOBODY = "65534"


def missing() -> str:
    """Return why this machine does not have it, "" if it has."""
    return "" if shutil.which("bwrap") else "bwrap is not installed"


def wrap(job: Job, inside: Sequence[str]) -> list[str]:
    """Return a command line that runs `inside` alone in its world.

    With a user id of its own (root that may make namespaces) `inside` changes to it; without, it
    looks like nobody, and is whoever grades.
    """
    words = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--chdir", str(ROOT)]
    if job.user is None:
        words += ["--unshare-user", "--uid", NOBODY, "--gid", NOBODY]
    else:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    reads, folder = [*job.readable, *inside_files()], str(job.folder)
    # The folders around them, which would be made for root alone.
    around = {str(one) for path in [*reads, *DEVICES, folder] for one in Path(path).parents}
    for path in sorted(around):
        words += ["--dir", path]
    for path in reads:
        words += ["--ro-bind", path, path]
    for path in DEVICES:
        words += ["--dev-bind", path, path]
    words += ["--bind", folder, folder, "--remount-ro", "/"]
    return [*words, "--", *inside]
