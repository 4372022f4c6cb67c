"""Files and folders that appear whole or not at all, and the openers of compressed files.

What is being written lies beside its place under a hidden name with the host and process that
write it. Such pieces of processes that were killed are swept up at the next use of their folder.
"""

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

from runtime.disk import writing
from runtime.errors import DiskError

Readable = str | os.PathLike[str]
Opener = Callable[..., Any]

# By the end of a file's name; what these and `open` raise of a missing or damaged file.
OPENERS: dict[str, Opener] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)

# What a shell hands down, and `<(...)`: pipes whose other end is there.
HANDED_DOWN = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")

# Of a piece's name: .NAME.HOST-PROCESS-RUN.tmp, -MORE before .tmp of a folder, .old behind it of
# a folder that is being replaced. RUN is random: in containers, processes have few numbers.
HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
RUN = secrets.token_hex(3)
PIECE = re.compile(
    r"\.(?P<name>.+)\.(?P<host>\w{8})-(?P<process>\d+)-(?P<run>\w{6})(-\w+)?\.tmp(?P<old>\.old)?"
)
# Whether a process of another host is alive cannot be asked: its pieces are left this long.
PATIENCE = 7 * 24 * 3600  # seconds


def open_plain(path: Readable, mode: str = "rb", opener: Opener = open, **how: Any) -> Any:
    """Open a file for reading, with `open` or another opener.

    Raises:
        OSError: it cannot be read, or is a pipe, which could be waited for without an end, or a
            device.
    """
    try:
        found = os.stat(path).st_mode
    except ValueError:  # half a character, or NUL
        raise OSError(errno.EINVAL, "no possible name of a file", os.fspath(path)) from None
    named = os.fspath(path).startswith(HANDED_DOWN)
    if not (stat.S_ISREG(found) or stat.S_ISDIR(found) or named):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file", os.fspath(path))
    return opener(path, mode, **how)


def open_file(path: Path, mode: str = "rb", **how: Any) -> Any:
    """Open a file as `open_plain` does, decompressed if its name says that it is compressed."""
    return open_plain(path, mode, OPENERS.get(path.suffix, open), **how)


@contextmanager
def utf8_name(path: Path) -> Iterator[str]:
    """Yield a name of a file for libraries that take names in UTF-8 only: its own, or a link's."""
    if not any("\ud800" <= char <= "\udfff" for char in str(path)):  # of bytes that are no text
        yield str(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, f"file{path.suffix}")
        link.symlink_to(path.absolute())
        yield str(link)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file to fill; it becomes `path` only when filled without an error.

    Two processes that write the same file never write into each other's. The content is on the
    disk before it gets its name: after a power failure the file is the older or the newer one.

    Raises:
        DiskError: no room, no permission, or `path` is a pipe or a device.
    """
    temporary = path.with_name(f".{path.name}.{_process()}.tmp")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DiskError(f"{path}: is a pipe or a device; name a file")
    _make_folder(path, temporary)
    try:
        with writing(path, temporary):
            yield temporary
            to_disk(temporary)
            os.replace(temporary, path)
            to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _make_folder(path: Path, temporary: Path) -> None:
    """Make the folder of a file that is to be written."""
    with writing(path, temporary):
        path.parent.mkdir(parents=True, exist_ok=True)


def write_text(path: Path, content: str) -> None:
    """Write a text file whole or not at all.

    The bytes of a path that are not UTF-8 become escapes, which JSON reads as they were.
    """
    with whole_file(path) as temporary:
        temporary.write_text(content, encoding="utf-8", errors="backslashreplace")


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces `target` only when filled without an error.

    It is on the disk before it gets its name, as `whole_file`.
    """
    target = target.resolve()  # replaces what a link points to, not the link
    with scratch_folder(target) as temporary:
        yield temporary
        tree_to_disk(temporary)
        _replace(target, temporary)
        to_disk(target.parent)


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `target`, on the same disk; what is still there goes.

    Raises:
        DiskError: no room, or no permission.
    """
    start = f".{target.name}.{_process()}-"
    _make_folder(target, target.with_name(start))
    with writing(target, target.with_name(start)):
        temporary = Path(tempfile.mkdtemp(".tmp", start, target.parent))
    temporary.chmod(0o755)  # mkdtemp's folders are private
    try:
        with writing(target, temporary):
            yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace(target: Path, filled: Path) -> None:
    """Put a filled folder in place of an older one, which is restored if that fails."""
    old = filled.with_name(filled.name + ".old")
    try:
        if target.exists():
            target.rename(old)
        os.replace(filled, target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def link(path: Path, target: Path) -> None:
    """Make `path` a relative link to `target`, so that both can be moved together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(os.path.relpath(target.resolve(), path.parent.resolve()))


def sweep(folder: Path, name: str = "", deep: bool = False) -> None:
    """Finish or delete what killed processes left in a folder.

    A folder whose replacement was cut off between its two renames gets its place; all else that
    they were writing goes. Nothing happens to pieces of processes that may be alive.

    Args:
        folder: where to look; it may be absent.
        name: of the one file or folder whose pieces are meant; all if empty.
        deep: look into the folders below, too.
    """
    pattern = f".{escape(name) or '*'}.*.tmp*"
    # The older folders first: what is to replace them is a piece as well.
    found = folder.rglob(pattern) if deep else folder.glob(pattern)
    for path in sorted(found, reverse=True):
        piece = PIECE.fullmatch(path.name)
        if piece and _is_abandoned(path, piece):
            with suppress(OSError):  # another process sweeps, too; or it may not be written
                _finish(path, piece) if piece["old"] else _delete(path)


def _finish(old: Path, piece: re.Match[str]) -> None:
    """Complete the replacement of a folder: its successor was whole when it was moved away."""
    target, filled = old.with_name(piece["name"]), old.with_suffix("")
    if not target.exists():
        os.replace(filled if filled.exists() else old, target)
    _delete(old)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _process() -> str:
    return f"{HOST}-{os.getpid()}-{RUN}"


def _is_abandoned(path: Path, piece: re.Match[str]) -> bool:
    """Return whether the process that wrote a piece is gone, or its host has long been silent."""
    process = int(piece["process"])
    if piece["host"] != HOST or os.name != "posix":
        return time.time() - path.lstat().st_mtime > PATIENCE
    if process == os.getpid():
        return piece["run"] != RUN
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's
        pass
    return False


def to_disk(path: Path) -> None:
    """Wait until the disk has a file's content, or a folder's names (POSIX only)."""
    if os.name != "posix" or path.is_symlink():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # some network drives cannot do it for folders
            raise
    finally:
        os.close(handle)


def tree_to_disk(folder: Path) -> None:
    """Wait until the disk has all that is in a folder."""
    for inner, _, names in os.walk(folder):
        for name in (*names, ""):
            to_disk(Path(inner, name))
