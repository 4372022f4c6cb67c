"""The documents of a submission: a file, a folder or a zip from anybody, read within bounds.

Nothing is unpacked to the disk, no link is followed, and no entry may name a place outside: what a
stranger sends can only be read as text.
"""

import calendar
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from assignment.walk import files_below, open_plain
from data.examples import DataError
from runtime.streams import printable

SUFFIXES = (".csv", ".tsv", ".txt")
MOST_BYTES = 2**24  # of a file: 16 MB; the largest that a course asks for has 3 MB
MOST_TOTAL = 2**26  # of the documents of a submission
MOST_ENTRIES = 10_000  # of a zip, or of a folder
# What zipfile raises for bytes that are no zip, or no longer.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others can ask for gigabytes of memory


@dataclass(frozen=True)
class Document:
    """A text file of a submission: its path for messages, and its bytes."""

    shown: str
    content: bytes

    @property
    def name(self) -> str:
        return PurePosixPath(self.shown).name


def short(text: str, most: int = 200) -> str:
    """Return a stranger's text as one short line without control characters."""
    line = printable(text)
    return line if len(line) <= most else line[: most - 1] + "…"


def is_hidden(name: str) -> bool:
    return name.startswith((".", "__MACOSX"))


def open_submission(path: Path, wanted: Callable[[str], Any] = lambda name: True) -> list[Document]:
    """Return the documents (.csv, .tsv, .txt) of a file, a folder or a zip, in order of names.

    Hidden files, macOS's `__MACOSX` among them, are passed over, and so are those in a folder or
    zip whose names are not `wanted`.

    Raises:
        DataError: there is nothing to read, something is larger than allowed, a link or no plain
            file, or the zip is damaged, encrypted or names places outside.
    """
    if path.is_symlink():
        raise DataError(f"{path}: a symbolic link; give the file or folder itself")

    def is_document(*parts: str) -> bool:
        shown = not any(map(is_hidden, parts))
        return shown and parts[-1].lower().endswith(SUFFIXES) and bool(wanted(parts[-1]))

    if path.is_dir():
        contents = _in_folder(path, is_document)
    elif path.suffix.lower() == ".zip":
        entries = zip_entries(path, is_document, MOST_BYTES, MOST_BYTES)
        contents = ((short(f"{path.name}/{entry.name}"), entry.content) for entry in entries)
    else:
        contents = iter([(printable(str(path)), _content(path, str(path)))])
    documents, total = [], 0
    for shown, content in contents:
        if len(content) > MOST_BYTES:
            raise DataError(f"{shown}: more than {MOST_BYTES >> 20} MB; submit predictions only")
        total += len(content)
        if total > MOST_TOTAL:
            raise DataError(f"{path}: more than {MOST_TOTAL >> 20} MB of text; submit less")
        documents.append(Document(shown, content))
    if not documents:
        raise DataError(f"{path}: no file {' or '.join(SUFFIXES)} in it; submit predictions")
    return sorted(documents, key=lambda document: document.shown)


def _in_folder(folder: Path, is_document: Callable[..., bool]) -> Iterator[tuple[str, bytes]]:
    """Yield the path for messages and the content of each document in a folder."""
    for number, entry in enumerate(files_below(folder, is_hidden), start=1):
        if number > MOST_ENTRIES:
            raise DataError(f"{folder}: more than {MOST_ENTRIES:,} files; submit predictions only")
        if is_document(entry.name):
            path = Path(entry.path)
            shown = short(str(folder.name / path.relative_to(folder)))
            yield shown, _content(path, shown)


def _content(path: Path, shown: str) -> bytes:
    """Return the content of a plain file, or its beginning if it is too large."""
    try:
        with open_plain(path) as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        if path.is_symlink():
            raise DataError(f"{shown}: a symbolic link; submit the file itself") from None
        if path.exists() and not path.is_file():
            raise DataError(f"{shown}: not a plain file; submit the file itself") from None
        reason = error.strerror or error
        raise DataError(f"{shown}: cannot be read ({reason}); check the path") from None


class ZipEntry(NamedTuple):
    """A file in a zip."""

    name: str  # with "/" between folders, as Windows' programs do not always write it
    content: bytes
    changed: float  # in seconds, as a file's time


def zip_entries(
    path: Path, wanted: Callable[..., bool], most: int, most_zip: int
) -> Iterator[ZipEntry]:
    """Yield the wanted files of a zip.

    Args:
        path: of a zip that anybody may have made.
        wanted: called with the parts of a name.
        most: bytes of a file; of a larger one `most` + 1 are given.
        most_zip: bytes of the zip itself.

    Raises:
        DataError: it is larger, damaged, encrypted, holds links or names places outside.
    """
    try:
        # Its list of entries alone takes ten times the memory.
        if path.stat().st_size > most_zip:
            raise DataError(
                f"{path}: more than {most_zip >> 20} MB; submit only the requested files"
            )
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_entries(path, entries)
            for entry in entries:
                name = _name_of(entry)
                parts = PurePosixPath(name).parts
                if not name.endswith("/") and parts and wanted(*parts):
                    # What an entry says of its size may be a lie, and so may its date.
                    with archive.open(entry) as member:
                        year, month, day, *clock = entry.date_time
                        changed = calendar.timegm((year, min(max(month, 1), 12), day, *clock))
                        yield ZipEntry(name, member.read(most + 1), changed)
    except DataError:
        raise
    except DAMAGED as error:
        raise DataError(f"{path}: not a valid zip ({short(str(error))}); zip again") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None


def _name_of(entry: zipfile.ZipInfo) -> str:
    return entry.filename.replace("\\", "/")


def _check_entries(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Raise DataError for an archive that an honest program would not have written."""
    if len(entries) > MOST_ENTRIES:
        raise DataError(f"{path}: {len(entries):,} entries; submit only the requested files")
    names = set()
    for entry in entries:
        shown = f"{path}: entry {short(entry.filename, 80)!r}"
        place = PurePosixPath(_name_of(entry))
        if place.is_absolute() or ".." in place.parts:
            raise DataError(f"{shown} has a path outside the zip; zip the folder itself")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise DataError(f"{shown} is a symbolic link; submit the file itself")
        if entry.flag_bits & 1:
            raise DataError(f"{shown} is encrypted; zip without a password")
        if entry.compress_type not in METHODS:
            raise DataError(f"{shown} is compressed in an unusual way; zip with the usual one")
        if place in names:
            raise DataError(f"{shown} is there twice; zip again")
        names.add(place)
