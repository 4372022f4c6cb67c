"""Find files: in a folder at any depth, included in the project, or downloaded earlier.

SentEval's tree and flat folders both work: published files are found by name, also compressed (.xz,
.gz, .bz2).
"""

from collections.abc import Sequence
from pathlib import Path

from data.examples import DataError
from data.sources import DEFAULT_FOLDER, SOURCES, file_of
from data.table import open_table, plain_name, stored
from data.tasks import Task

BUNDLED = Path(__file__).parent / "bundled"  # synthetic data, each file compressed
DEEPEST = 5  # levels below a folder


class MissingSet(DataError):
    """Files of an evaluation set are missing; the message names them, the folder and the remedy.

    `looked_for` are their names.
    """

    def __init__(self, message: str, looked_for: str):
        super().__init__(message)
        self.looked_for = looked_for


# --- folders and files that a command line names


def data_folder(name: str) -> Path:
    """Return a folder of CS224N files: `bundled` is included, `cs224n` was downloaded before.

    Raises:
        DataError: the course's files have not been downloaded; the message has the command.
    """
    if Path(name).is_dir() or name not in ("bundled", "cs224n"):
        return Path(name)
    if name == "bundled":
        return BUNDLED
    folder = DEFAULT_FOLDER / name
    if not folder.is_dir():
        raise DataError(
            f"{folder}: missing; fetch the course's data: python -m data.download {name}"
        )
    return folder


def training_file(
    pretrain: str, source: str, named: str | None, folder: Path, flag: str = ""
) -> Path:
    """Return the training file of an objective: `named`, or the published or downloaded file.

    Args:
        pretrain: the objective, as on the command line.
        source: its published data set in SOURCES, or a file that cannot be downloaded.
        named: the file given on the command line, if any.
        folder: the data folder, which is searched first for a file of the published name.
        flag: the flag for the file, if it is not --PRETRAIN-data.
    """
    published, file = source in SOURCES, file_of(source)
    tried = [folder / file, *([DEFAULT_FOLDER / source / file] if published else [])]
    if named:
        tried = [Path(named)]
    for path in map(stored, tried):
        if path.is_file():
            return path
    fetch_it = f", or fetch it: python -m data.download {source}" if published else ""
    raise DataError(
        f"--pretrain {pretrain}: no file {' or '.join(map(str, tried))}; "
        f"give {flag or f'--{pretrain}-data'} FILE{fetch_it}"
    )


# --- published names at any depth


def find(folder: Path, name: str) -> Path | None:
    """Return the file or folder of this name in `folder`, or None.

    The name may include parent folders, as in `STSBenchmark/sts-test.csv`. The search is breadth
    first, each level in order of names, at most five levels deep. It skips hidden folders, and
    synthetic data below `folder`, whose files have the published names. The first match is
    returned; it may be compressed, or `folder` itself.
    """
    wanted = Path(name).parts
    level = [folder.absolute()]
    for _ in range(DEEPEST + 1):
        for path in level:
            if (*path.parts[:-1], plain_name(path))[-len(wanted) :] == wanted:
                return path
        level = [entry for path in level for entry in _entries(path)]
    return None


def _entries(folder: Path) -> list[Path]:
    """Return the content of a folder, sorted; [] for a file or an unreadable folder."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [p for p in entries if not p.name.startswith((".", "bundled-")) and p.name != "bundled"]


def find_task(folder: Path, task: Task) -> Path | None:
    """Return the folder, at any depth, with a task's training file of a course, or None.

    STS-Benchmark as published has a file of the same name, without a header.
    """
    trains = (find(folder, names[0]) for names in task.namings)
    return next((train.parent for train in trains if train and _is_table_of(train, task)), None)


def _is_table_of(train: Path, task: Task) -> bool:
    """Return whether a file has a task's columns; the published STS-Benchmark has not."""
    try:
        open_table(train, task.columns)
    except DataError:
        return False
    return True


def locate(folder: Path, what: str, names: Sequence[Sequence[str]], command: str) -> list[Path]:
    """Return one path for each of `names`, each a list of possible names.

    Args:
        folder: the folder to search.
        what: the name of the set, for the message.
        names: for each file or folder, its possible names, the preferred one first.
        command: the command that writes the files when a folder is appended, "" for none.

    Raises:
        MissingSet: some of them are missing.
    """

    def first(place: Path, spellings: Sequence[str]) -> Path | None:
        return next(filter(None, (find(place, name) for name in spellings)), None)

    # All from the folder of the first file: a set must not be mixed from two copies.
    start = first(folder, names[0])
    around = start.parent if start else folder
    paths = [start, *(first(around, group) or first(folder, group) for group in names[1:])]
    missing = [" or ".join(group) for group, path in zip(names, paths, strict=True) if path is None]
    if missing:
        raise missing_set(folder, what, missing, command)
    return [path for path in paths if path is not None]


def missing_set(folder: Path, what: str, missing: Sequence[str], command: str) -> MissingSet:
    """Return the error that names the missing files of a set and the remedy."""
    problem = "not found" if folder.is_dir() else "there is no such folder"
    remedy = f"get them with: {command} {folder}" if command else "copy the published files there"
    names = " and ".join(missing)
    return MissingSet(f"{what}: looked for {names} in {folder}: {problem}; {remedy}", names)
