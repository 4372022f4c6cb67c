"""What to say when a file cannot be written: which, why, how much room there is, what to do."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import DiskError

FREE = "free some space, or name another place"
MAY_NOT = "name another place, or allow writing there"
ADVICE = {
    errno.ENOSPC: FREE,
    errno.EDQUOT: FREE,
    errno.EFBIG: "raise the limit (ulimit -f), or name another place",
    errno.EROFS: MAY_NOT,
    errno.EACCES: MAY_NOT,
    errno.EPERM: MAY_NOT,
}


@contextmanager
def writing(target: Path, written: Path) -> Iterator[None]:
    """Raise, when writing fails, an error that names the file and says what it needs.

    Args:
        target: what the user knows.
        written: the temporary file or folder that is filled meanwhile. Errors of other files than
            these and the folder around them are left as they are.

    Raises:
        DiskError: no room, a limit, or no permission.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, DiskError) or not _is_about(error, written):
            raise
        raise DiskError(_message(error, target, written)) from None


def _is_about(error: OSError, written: Path) -> bool:
    """Return whether writing failed. NumPy's error for a full disk has no number."""
    if error.errno not in ADVICE:
        return type(error) is OSError and error.errno is None
    if error.filename is None:
        return True
    named = Path(str(error.filename))
    return written in (named, *named.parents) or named in written.parents


def _message(error: OSError, target: Path, written: Path) -> str:
    reason = error.strerror or " ".join(str(error).split())
    advice = ADVICE.get(error.errno or 0, FREE)
    if advice == FREE:
        free = shutil.disk_usage(_nearest(target)).free
        reason += f"; more than {_size(written):,} bytes are needed, {free:,} are free"
    return f"{target}: cannot be written ({reason}); {advice}"


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    inner = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in inner if file.is_file())


def _nearest(path: Path) -> Path:
    """Return the folder around a file; of those that do not exist, the first that does."""
    return next(folder for folder in path.absolute().parents if folder.is_dir())
