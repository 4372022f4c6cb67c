"""What is taken of submissions, people's folders and zips: their code.

They were made by somebody nobody trusts. Links are never followed, sizes are bounded, and what is
not asked for stays behind.
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path, PurePosixPath

from assignment.parts import PARTS
from assignment.submission.opening import is_hidden, short, zip_entries
from assignment.walk import files_below, open_plain
from data.examples import DataError
from runtime.errors import UserError
from runtime.streams import printable

MOST_BYTES = 2**20  # of a file of code
MOST_ZIP = 2**26  # bytes: a whole tree with its small checkpoint has 16 MB
MOST_TOTAL = 2**26  # bytes of all code in a zip
DEEPEST = 8  # folders around a file in a zip
# Tests, what tests or Python itself run unasked, and what Python would run instead of the source.
FOLDERS_LEFT_OUT = {"tests", "test", "checks", "hidden", "__pycache__", "site-packages"}
FILES_LEFT_OUT = {"conftest.py", "sitecustomize.py", "usercustomize.py"}
SUFFIXES = {".py", ".txt", ".json"}  # the training data stay behind
MOST_NEW = 100  # modules of a student's own
DEPTH = 2  # folders around a submission's tree, as archives add them
LONGEST = 200  # bytes of a submission's name, after which files are named
# A file and a folder of one name, or too long a name. Other errors are not the student's fault.
BAD_NAME = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
NOT_TAKEN = f"not a regular file of at most {MOST_BYTES >> 20} MB, or in conflict with another file"


@dataclass(frozen=True)
class Submission:
    """One student's."""

    name: str  # of the folder or zip handed in
    tree: Path  # where the packages lie, in it or a little below
    path: Path  # the folder or zip
    fault: str = ""  # why it cannot be read


def asked_files(parts: Iterable[str]) -> tuple[str, ...]:
    """Return the files that students write for parts, by the parts' names."""
    places = [place for part in parts if part in PARTS for place in PARTS[part].places]
    return tuple(dict.fromkeys(place.partition(":")[0] for place in places))


def submissions(
    paths: Sequence[Path], files: Sequence[str], single: bool, work: Path
) -> list[Submission]:
    """Return the submissions that folders and zips are or hold, by name.

    A folder that has one of the files that the assignment asks for is a submission; any other,
    unless `single`, holds submissions, and whatever else lies in it is one with a fault, so that it
    is not overlooked. Of two of one name the newer one has it. The code in zips is unpacked into
    new folders in `work`.

    Raises:
        UserError: a path is no folder or zip, or holds nothing.
    """
    entries: list[Path] = []
    for path in paths:
        if not path.is_dir() and not _is_zip(path):
            raise UserError(f"{path}: not a folder or zip; give a submission, or a folder of them")
        within = [path.resolve()]
        if not single and not _is_zip(path) and not _tree(path, files, depth=0):
            within = _shown(path)
        if not within:
            raise UserError(f"{path}: holds none of {', '.join(files[:3])} ..., and no submissions")
        entries += within
    by_name: dict[str, Submission] = {}
    for entry in sorted(entries, key=lambda entry: entry.lstat().st_mtime, reverse=True):
        name = entry.stem if _is_zip(entry) else entry.name
        if name in by_name:
            fault = f"{by_name[name].path.name}, which is newer, was graded under this name"
            others = chain([entry.name], (f"{entry.name} ({n})" for n in count(2)))
            name = next(other for other in others if other not in by_name)
            by_name[name] = Submission(name, entry, entry, fault)
        else:
            unpacked = Path(tempfile.mkdtemp(prefix="zip-", dir=work))
            by_name[name] = _submission(name, entry, files, unpacked)
    return [by_name[name] for name in sorted(by_name)]


def _submission(name: str, path: Path, files: Sequence[str], unpacked: Path) -> Submission:
    """Return a submission, with what is wrong where its code is not found."""

    def faulty(fault: str, place: Path = path) -> Submission:
        return Submission(name, path, place, f"{printable(place.name)}: {fault}")

    if len(os.fsencode(name)) > LONGEST:
        return faulty(f"a name of more than {LONGEST} bytes; rename it")
    if path.is_symlink() or not (path.is_dir() or _is_zip(path)):
        kind = "a link" if path.is_symlink() else "no folder and no .zip"
        return faulty(f"{kind}; hand in a zip")
    if path.is_dir() and (tree := _tree(path, files)):
        return Submission(name, tree, path)
    # Some platforms give each student a folder with what was handed in.
    zips = [path] if _is_zip(path) else [inside for inside in _shown(path) if _is_zip(inside)]
    missing = f"none of {', '.join(files[:3])} ... within {DEPTH} folders"
    if len(zips) != 1:
        return faulty(f"{len(zips)} zips, and no folder; hand in one" if zips else missing)
    try:
        _unpack(zips[0], unpacked)
    except DataError as error:
        fault = str(error).removeprefix(f"{zips[0].parent}{os.sep}")
        return Submission(name, path, path, printable(fault))
    if tree := _tree(unpacked, files):
        return Submission(name, tree, zips[0])
    return faulty(missing, zips[0])


def _tree(folder: Path, files: Sequence[str], depth: int = DEPTH) -> Path | None:
    """Return the folder that the asked files are relative to, None if it is not there."""
    if any(_is_plain(folder, name) for name in files):
        return folder
    inside = _shown(folder) if depth else []
    deeper = (path for path in inside if path.is_dir() and not path.is_symlink())
    return next(filter(None, (_tree(path, files, depth - 1) for path in deeper)), None)


def _shown(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not is_hidden(path.name))


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip" and path.is_file() and not path.is_symlink()


def _unpack(path: Path, folder: Path) -> None:
    """Write the code in a zip, small plain files, into an empty folder.

    Raises:
        DataError: the zip is damaged, encrypted, too large, or holds what no honest zip does.
    """
    total = 0

    def wanted(*parts: str) -> bool:
        return len(parts) <= DEEPEST and not any(map(is_hidden, parts)) and _is_code(parts[-1])

    for name, content in zip_entries(path, wanted, MOST_BYTES, MOST_ZIP):
        total += len(content)
        if total > MOST_TOTAL:
            raise DataError(f"{path}: more than {MOST_TOTAL >> 20} MB of code; zip only the code")
        if len(content) > MOST_BYTES:
            continue
        if not _write(folder / PurePosixPath(name), content):
            shown = short(name, 80)
            raise DataError(
                f"{path}: {shown!r} is too long, or both a file and a folder; "
                "rename it and zip again"
            )


def take_code(tree: Path, target: Path, files: Sequence[str], starter: Path | None) -> list[str]:
    """Copy what counts of a student's tree to `target`, a new folder.

    Of the student's are the files that the assignment asks for, and modules that the starter does
    not have; all others come from the starter, the tree as handed out, whatever the student
    changed. Without a starter they are the student's, without tests.

    Returns:
        what was left behind although it is asked for, in words.
    """
    target.mkdir()
    source = starter or tree
    for entry in files_below(source, lambda name: name in FOLDERS_LEFT_OUT or name[0] == "."):
        if _is_code(entry.name):
            _copy(Path(entry.path), target / Path(entry.path).relative_to(source))
    left = _take_new_modules(tree, target) if starter else []
    for name in files:
        if not _is_plain(tree, name):
            left.append(f"{name}: a link" if (tree / name).is_symlink() else f"{name}: not there")
        elif not _copy(tree / name, target / name):
            left.append(f"{name}: {NOT_TAKEN}")
    return left


def own_code(tree: Path, files: Sequence[str], starter: Path) -> str:
    """Return all that is a student's own of a tree that `take_code` wrote, in one text.

    The asked files come first; the modules that were not handed out may hold a copy of one.
    """
    modules = (Path(entry.path).relative_to(tree) for entry in files_below(tree))
    new = [str(name) for name in modules if name.suffix == ".py" and not (starter / name).exists()]
    texts = []
    for name in dict.fromkeys([*files, *sorted(new)]):
        if (tree / name).is_file():
            texts.append(f"# {name}\n{(tree / name).read_text('utf-8', errors='replace')}")
    return "\n".join(texts)


def _take_new_modules(tree: Path, target: Path) -> list[str]:
    """Copy the Python files that the target does not have yet; return what was left, in words."""
    left, taken = [], 0
    for entry in files_below(tree, lambda name: name in FOLDERS_LEFT_OUT or is_hidden(name)):
        path = Path(entry.path).relative_to(tree)
        if path.suffix != ".py" or not _is_code(path.name) or (target / path).exists():
            continue
        if is_hidden(path.name):
            left.append(f"{printable(str(path))}: hidden")
        elif taken == MOST_NEW:
            return [*left, f"{path}: more than {MOST_NEW} new modules"]
        elif not _copy(Path(entry.path), target / path):
            left.append(f"{printable(str(path))}: {NOT_TAKEN}")
        taken += 1
    return left


def _is_code(name: str) -> bool:
    is_test = name in FILES_LEFT_OUT or name.startswith("test_")
    return Path(name).suffix in SUFFIXES and not is_test


def _is_plain(tree: Path, name: str) -> bool:
    """Return whether a file is there, is a regular one, and no link leads to it."""
    path = tree
    for part in Path(name).parts:
        path = path / part
        if path.is_symlink():
            return False
    return path.is_file()


def _copy(source: Path, target: Path) -> bool:
    """Copy a regular file of bounded size and of one name; return whether it was one."""
    try:
        with open_plain(source) as file:
            content = file.read(MOST_BYTES + 1)
            linked = os.fstat(file.fileno()).st_nlink > 1
    except OSError:
        return False
    if linked or len(content) > MOST_BYTES:
        return False
    return _write(target, content)


def _write(target: Path, content: bytes) -> bool:
    """Write a file; return whether a student's folder may have such a name."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        if error.errno not in BAD_NAME:
            raise
        return False
    return True
