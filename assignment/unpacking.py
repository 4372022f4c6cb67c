"""A student's zip becomes a folder of plain small files; what is no code stays in it.

Reads: the bounded reading of submission.opening. Feeds: intake.
"""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from assignment.submission.opening import is_hidden, printable, zip_entries
from data.examples import DataError

MOST_ZIP = 2**26  # bytes: a whole tree with its small checkpoint has 16 MB
MOST_TOTAL = 2**26  # bytes of all files taken
DEEPEST = 8  # folders around a file


def is_zip(path: Path) -> bool:
    """Return whether a path is a plain file that calls itself a zip."""
    return path.suffix.lower() == ".zip" and path.is_file() and not path.is_symlink()


def unpack(path: Path, folder: Path, wanted: Callable[[str], bool], most: int) -> None:
    """Write the wanted files of a zip into a new folder.

    Args:
        path: of the zip, which anybody may have made.
        folder: made here.
        wanted: whether a file is, by its name without folders.
        most: bytes of a file; larger ones are left out.

    Raises:
        DataError: the zip is damaged, encrypted, too large, or holds what no honest zip does.
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True)
    total = 0

    def shallow(*parts: str) -> bool:
        shown = not any(map(is_hidden, parts))
        return shown and len(parts) <= DEEPEST and wanted(parts[-1])

    for name, content in zip_entries(path, shallow, most, MOST_ZIP):
        total += len(content)
        if total > MOST_TOTAL:
            raise DataError(f"{path}: more than {MOST_TOTAL >> 20} MB of code; zip the code alone")
        if len(content) <= most:
            _write(path, folder / PurePosixPath(name), content)


def _write(path: Path, target: Path, content: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:  # a file and a folder of one name, or too long a name
        shown = printable(target.name, 80)
        raise DataError(f"{path}: {shown!r} cannot be written ({error.strerror})") from None
