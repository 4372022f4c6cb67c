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
from assignment.submission.opening import MOST_BYTES as MOST_PREDICTIONS
from assignment.submission.opening import MOST_ENTRIES, is_hidden, short, zip_entries
from assignment.submission.reader import named
from assignment.walk import files_below, open_plain
from data.examples import DataError
from runtime.errors import UserError
from runtime.streams import printable

MOST_BYTES = 2**20  # of a file of code
MOST_ZIP = 2**26  # bytes: a whole tree with its small checkpoint has 16 MB
MOST_TOTAL = 2**26  # bytes of all that is taken of a submission
DEEPEST = 8  # folders around a file
MOST_ZIPS = 2  # in each other, in what was handed in
# Tests, what tests or Python itself run unasked, and what Python would run instead of the source.
FOLDERS_LEFT_OUT = {"tests", "test", "checks", "hidden", "__pycache__", "site-packages"}
FILES_LEFT_OUT = {"conftest.py", "sitecustomize.py", "usercustomize.py"}
SUFFIXES = {".py", ".txt", ".json"}  # the training data stay behind
MOST_NEW = 100  # modules of a student's own
LONGEST = 200  # bytes of a submission's name, after which files are named
# A file and a folder of one name, or too long a name. Other errors are not the student's fault.
BAD_NAME = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
NOT_TAKEN = f"not a regular file of at most {MOST_BYTES >> 20} MB, or in conflict with another file"


@dataclass(frozen=True)
class Submission:
    """One student's, laid out as plain files."""

    name: str  # of the folder or zip handed in
    tree: Path  # where the packages lie
    place: Path  # all that was taken of it, its predictions too
    fault: str = ""  # why it cannot be read
    notes: tuple[str, ...] = ()  # what was done with it, and what was not taken


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
    is not overlooked. Of two of one name the newer one has it. What they hold is laid out in new
    folders in `work`.

    Raises:
        UserError: a path is no folder or zip, or holds nothing.
    """
    entries: list[Path] = []
    for path in paths:
        if not path.is_dir() and not _is_zip(path):
            raise UserError(f"{path}: not a folder or zip; give a submission, or a folder of them")
        within = [path.resolve()]
        if not (single or _is_zip(path) or any((path / name).is_file() for name in files)):
            within = sorted(inside for inside in path.iterdir() if not is_hidden(inside.name))
        if not within:
            raise UserError(f"{path}: holds none of {', '.join(files[:3])} ..., and no submissions")
        entries += within
    by_name: dict[str, Submission] = {}
    newest: dict[str, Path] = {}
    older: list[tuple[str, Path]] = []
    for entry in sorted(entries, key=lambda entry: entry.lstat().st_mtime, reverse=True):
        name = entry.stem if _is_zip(entry) else entry.name
        if name in newest:
            older.append((name, entry))
        else:
            newest[name] = entry
            place = Path(tempfile.mkdtemp(prefix="submission-", dir=work))
            by_name[name] = _submission(name, entry, files, place)
    for name, entry in older:
        fault = f"{newest[name].name}, which is newer, was graded under this name"
        others = chain([entry.name], (f"{entry.name} ({n})" for n in count(2)))
        free = next(other for other in others if other not in by_name)
        by_name[free] = Submission(free, entry, entry, fault)
    return [by_name[name] for name in sorted(by_name)]


def _submission(name: str, path: Path, files: Sequence[str], place: Path) -> Submission:
    """Lay out a submission and return it, with what is wrong where its code is not found."""
    fault = ""
    if len(os.fsencode(name)) > LONGEST:
        fault = f"{printable(path.name)}: a name of more than {LONGEST} bytes; rename it"
    elif path.is_symlink() or not (path.is_dir() or _is_zip(path)):
        kind = "a link" if path.is_symlink() else "no folder and no .zip"
        fault = f"{printable(path.name)}: {kind}; hand in a zip"
    if fault:
        return Submission(name, path, path, fault)
    layout = _Layout(place / (printable(path.stem)[:60].strip(". ") or "submission"), files)
    try:
        layout.take(path)
    except DataError as error:
        return Submission(name, path, path, printable(str(error).removeprefix(f"{path.parent}/")))
    tree = layout.tree()
    if tree is None:
        why = "; ".join(["", *layout.notes[:2]])
        fault = f"{printable(path.name)}: none of {', '.join(files[:3])} ... in it{why}"
    return Submission(name, tree or place, layout.folder, fault, tuple(layout.notes))


class _Layout:
    """A folder of plain files: the code and the predictions of a submission, its zips unpacked.

    Args:
        folder: a new one.
        files: what the assignment asks for.
    """

    def __init__(self, folder: Path, files: Sequence[str]):
        self.folder, self.files = folder, files
        self.notes: list[str] = []
        self._total = self._files = 0
        # A zip's folder -> when the zip was changed. Of files outside, the newest counts.
        self._zips: dict[Path, float] = {}

    def take(self, path: Path) -> None:
        """Take what a folder or a zip holds.

        Raises:
            DataError: a zip is damaged, encrypted, too large, or holds what no honest zip does.
        """
        self.folder.mkdir()
        if path.is_dir():
            self._take_folder(path)
        else:
            self._unpack(path, self.folder, path.name)

    def _take_folder(self, source: Path) -> None:
        environments = {str(path.parent) for path in source.glob("*/pyvenv.cfg")}
        for entry in files_below(source, lambda name: name in FOLDERS_LEFT_OUT or is_hidden(name)):
            name = Path(entry.path).relative_to(source)
            if str(source / name.parts[0]) in environments:
                continue
            if _is_zip(Path(entry.path)):
                self._unpack_inner(Path(entry.path), self.folder / name, str(name))
            elif len(name.parts) <= DEEPEST and _is_wanted(entry.name):
                content = _content(Path(entry.path))
                self._count(content or b"")
                changed = entry.stat(follow_symlinks=False).st_mtime
                if content is None or not self._write(self.folder / name, content, changed):
                    link = "a link" if entry.is_symlink() else NOT_TAKEN
                    self.notes.append(f"{printable(str(name))}: {link}")

    def _unpack_inner(self, path: Path, place: Path, shown: str, inside: int = 0) -> None:
        """Unpack a zip that lies in what was handed in, into a folder of its own."""
        names = (place.with_name(f"{place.stem}{' (zip)' * n}") for n in count())
        folder = next(folder for folder in names if not folder.exists())
        try:
            self._unpack(path, folder, shown, inside)
        except DataError as error:  # the code may lie next to it
            self.notes.append(printable(str(error).replace(str(path), shown)))

    def _unpack(self, path: Path, folder: Path, shown: str, inside: int = 0) -> None:
        """Write what is wanted of a zip into a folder, and of the zips in it below that."""

        def wanted(*parts: str) -> bool:
            kept = len(parts) <= DEEPEST and not any(p in FOLDERS_LEFT_OUT for p in parts)
            file = _is_wanted(parts[-1]) or (inside < MOST_ZIPS and _is_zip_name(parts[-1]))
            return kept and file and not any(map(is_hidden, parts))

        self._zips[folder] = path.stat().st_mtime
        zips: list[tuple[Path, str]] = []  # unpacked when all files have their places
        for name, content, changed in zip_entries(path, wanted, MOST_ZIP, MOST_ZIP):
            self._count(content)
            place = folder / PurePosixPath(name)
            if len(content) > _most(place.name):
                self.notes.append(f"{short(name, 80)}: {NOT_TAKEN}")
            elif not self._write(place, content, changed):
                raise DataError(
                    f"{shown}: {short(name, 80)!r} is too long, or both a file and a folder; "
                    "rename it and zip again"
                )
            elif _is_zip_name(place.name):
                zips.append((place, f"{shown}/{short(name, 80)}"))
        for place, name in zips:
            self._unpack_inner(place, place, name, inside + 1)
            place.unlink()

    def _write(self, place: Path, content: bytes, changed: float) -> bool:
        written = _write(place, content)
        if written:
            os.utime(place, (changed, changed))
        return written

    def _count(self, content: bytes) -> None:
        self._total += len(content)
        self._files += 1
        if self._files > MOST_ENTRIES:
            raise DataError(f"{self.folder.name}: more than {MOST_ENTRIES:,} files; hand in fewer")
        if self._total > MOST_TOTAL:
            most = f"{MOST_TOTAL >> 20} MB of code and predictions"
            raise DataError(f"{self.folder.name}: more than {most}; hand in only these")

    def tree(self) -> Path | None:
        """Return the folder that the asked files are relative to, None if none is there.

        Of several copies the one in the zip that was changed last counts, then the one with most of
        the files, then the one whose files were changed last. Files that lie loose are put where
        they belong.
        """
        trees: dict[Path, list[Path]] = {}
        for entry in files_below(self.folder):
            path = Path(entry.path)
            for name in self.files:
                if path.as_posix().endswith(f"/{name}") and path.stat().st_size <= MOST_BYTES:
                    trees.setdefault(path.parents[name.count("/")], []).append(path)
        if not trees:
            return self._loose()

        def newest(paths: Iterable[Path]) -> float:
            return max((path.stat().st_mtime for path in paths), default=0.0)

        def zip_of(tree: Path) -> Path | None:
            return next((p for p in (tree, *tree.parents) if p in self._zips), None)

        outside = newest(p for tree, paths in trees.items() if not zip_of(tree) for p in paths)

        def rank(tree: Path) -> tuple[float, int, float, int]:
            around = zip_of(tree)
            archived = self._zips[around] if around else outside
            return archived, len(trees[tree]), newest(trees[tree]), -len(tree.parts)

        first, *others = sorted(trees, key=rank, reverse=True)
        if others:
            shown = [printable(str(tree.relative_to(self.folder))) for tree in (first, *others)]
            copies = f"{len(shown)} copies of the code ({', '.join(shown[:4])})"
            self.notes.append(f"{copies}: {shown[0]} was graded, the newest")
        return first

    def _loose(self) -> Path | None:
        """Put asked files without their folders where they belong; None without any."""
        by_name = {PurePosixPath(name).name: name for name in self.files}
        tree = self.folder / "loose"
        for entry in [*files_below(self.folder)]:
            if entry.name in by_name and not (tree / by_name[entry.name]).exists():
                _write(tree / by_name[entry.name], Path(entry.path).read_bytes())
        if not tree.is_dir():
            return None
        self.notes.append("files without their folders: put where they belong")
        return tree


def _is_wanted(name: str) -> bool:
    return _is_code(name) or bool(named(name))


def _is_zip(path: Path) -> bool:
    return _is_zip_name(path.name) and path.is_file() and not path.is_symlink()


def _is_zip_name(name: str) -> bool:
    return name.lower().endswith(".zip")


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
        if not (tree / name).is_file():
            left.append(f"{name}: not there")
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
    left: list[str] = []
    taken = 0
    for entry in files_below(tree, lambda name: name in FOLDERS_LEFT_OUT or is_hidden(name)):
        path = Path(entry.path).relative_to(tree)
        new = path.suffix == ".py" and _is_code(path.name) and not (target / path).exists()
        if new and taken == MOST_NEW:
            return [*left, f"{path}: more than {MOST_NEW} new modules"]
        if new and not _copy(Path(entry.path), target / path):
            left.append(f"{printable(str(path))}: {NOT_TAKEN}")
        taken += new
    return left


def _is_code(name: str) -> bool:
    is_test = name in FILES_LEFT_OUT or name.startswith("test_")
    return Path(name).suffix in SUFFIXES and not is_test


def _copy(source: Path, target: Path) -> bool:
    content = _content(source)
    return content is not None and _write(target, content)


def _content(path: Path) -> bytes | None:
    """Return what a regular file of one name holds; None if it is something else, or too large."""
    try:
        with open_plain(path) as file:
            content = file.read(_most(path.name) + 1)
            linked = os.fstat(file.fileno()).st_nlink > 1
    except OSError:
        return None
    return None if linked or len(content) > _most(path.name) else content


def _most(name: str) -> int:
    """Return the bytes that a file of this name may have."""
    if _is_code(name):
        return MOST_BYTES
    return MOST_ZIP if _is_zip_name(name) else MOST_PREDICTIONS


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
