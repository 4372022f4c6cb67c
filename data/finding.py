"""Finds published files by name, however deep in a folder they lie.

SentEval's tree, a flat folder and a folder of everything then work alike.
Reads: folders, data.tasks. Feeds: data.suites.
"""

from collections.abc import Sequence
from pathlib import Path

from data.examples import DataError
from data.readers.tables import plain_name, read_header
from data.tasks import Task

DEEPEST = 5  # levels below the folder


class MissingSet(DataError):
    """The files of an evaluation set are not there; the message says which, where, what to do.

    `looked_for` are their names.
    """

    def __init__(self, message: str, looked_for: str):
        super().__init__(message)
        self.looked_for = looked_for


def find(folder: Path, name: str) -> Path | None:
    """Return the file or folder of this name in `folder`, or None.

    The name may hold the folders above it, as in `STSBenchmark/sts-test.csv`. Breadth first, each
    level in order of names, at most five levels deep; hidden folders are passed over, and so is
    synthetic data below `folder`, whose files have the published names. The first hit counts, and
    so does a compressed file. `folder` itself may have the name.
    """
    wanted = Path(name).parts
    level = [folder.absolute()]
    for _ in range(DEEPEST + 1):
        for path in level:
            if path.with_name(plain_name(path)).parts[-len(wanted) :] == wanted:
                return path
        level = [entry for path in level for entry in _entries(path)]
    return None


def find_task(folder: Path, task: Task) -> Path | None:
    """Return the folder, at any depth, with a task's training file in CS224N's format, or None.

    STS-Benchmark as published has a file of the same name, without a header.

    Raises:
        DataError: the file cannot be read.
    """
    train = find(folder, task.files[0])
    return train.parent if train and task.label in read_header(train, "\t") else None


def _entries(folder: Path) -> list[Path]:
    """Return what a folder holds, in order; nothing for a file or a folder that cannot be read."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [p for p in entries if not p.name.startswith((".", "bundled-")) and p.name != "bundled"]


def locate(folder: Path, what: str, names: Sequence[Sequence[str]], command: str) -> list[Path]:
    """Return one path for each of `names`, every one of which lists the spellings to look for.

    Args:
        folder: where to look.
        what: the name of the set, for the message.
        names: for each file or folder, the names under which it is about, the preferred one first.
        command: the command that writes the files when a folder is appended, "" where there is
            none.

    Raises:
        MissingSet: not all of them are there.
    """
    # All from the folder of the first: files of one set must not come from two copies of it.
    first = _first(folder, names[0])
    around = first.parent if first else folder
    found = [first, *(_first(around, group) or _first(folder, group) for group in names[1:])]
    missing = [" or ".join(group) for group, path in zip(names, found, strict=True) if path is None]
    if missing:
        raise missing_set(folder, what, missing, command)
    return [path for path in found if path is not None]


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first of several spellings that is there."""
    return next(filter(None, (find(folder, name) for name in names)), None)


def missing_set(folder: Path, what: str, missing: Sequence[str], command: str) -> MissingSet:
    """Return the error that says which files of a set are not in a folder, and what to do."""
    problem = "not found" if folder.is_dir() else "there is no such folder"
    remedy = f"get them with: {command} {folder}" if command else "copy the published files there"
    names = " and ".join(missing)
    return MissingSet(f"{what}: looked for {names} in {folder}: {problem}; {remedy}", names)
