"""Files of folders that anybody may have filled: no link is followed, no pipe waited for."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

# Follow no link, and do not wait for somebody to write to a pipe; Windows has neither flag.
PLAIN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def files_below(
    folder: str | os.PathLike[str], skip: Callable[[str], bool] = lambda name: False
) -> Iterator["os.DirEntry[str]"]:
    """Yield what is below a folder and no folder itself, in order; links are not followed.

    Unlike `os.walk` up to Python 3.11 it does not recurse: a thousand folders in each other are
    made in a moment, and would end the program that looks at them. Folders that `skip` names are
    left out.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as inside:
                entries = sorted(inside, key=lambda entry: entry.name)
        except OSError:  # gone meanwhile, unreadable, or too long a path
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not skip(entry.name):
                    waiting.append(entry.path)
            else:
                yield entry


def open_plain(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read.

    Raises:
        OSError: it cannot be opened, or is a link, a pipe, a folder or a device.
    """
    handle = os.open(path, PLAIN)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a plain file", os.fspath(path))
    return os.fdopen(handle, "rb")
