"""The files below a folder that anybody may have filled. Feeds: intake, sandbox."""

import os
from collections.abc import Callable, Iterator


def files_below(
    folder: str | os.PathLike[str], skip: Callable[[str], bool] = lambda name: False
) -> Iterator["os.DirEntry[str]"]:
    """Yield what is below a folder and no folder itself, in order; links are not followed.

    Unlike `os.walk` up to Python 3.11 it does not recurse: a thousand folders in each other are
    made in a moment, and would end the program that looks at them.

    Args:
        skip: whether to leave out a folder, by its name.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:  # gone meanwhile, unreadable, or too long a path
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not skip(entry.name):
                    waiting.append(entry.path)
            else:
                yield entry
