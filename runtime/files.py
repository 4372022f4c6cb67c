"""Atomic writing of files and folders, checksums, and errors of one line for reading.

A file that is being written is next to its final place, under a hidden name with the host and
process. Such pieces of killed processes are deleted at the next use of their folder.

A sealed file ends with a mark and a SHA-256 of its name and of everything before the mark; readers
of .npy and .pt files do not read beyond the end. A sealed folder holds SHA256SUMS, a list of its
other files in the format of `sha256sum -c`. Both detect accidents, not deliberate changes.
"""

import bz2
import errno
import gzip
import hashlib
import json
import lzma
import math
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, AnyStr

from runtime.errors import DiskError, UserError

FREE = "free some space, or name another place"
MAY_NOT = "name another place, or allow writing there"
IN_THE_WAY = "a file is where a folder should be; move it, or name another place"
ADVICE = {
    errno.ENOSPC: FREE,
    errno.EDQUOT: FREE,
    errno.EFBIG: "raise the limit (ulimit -f), or name another place",
    errno.EROFS: MAY_NOT,
    errno.EACCES: MAY_NOT,
    errno.EPERM: MAY_NOT,
    errno.EEXIST: IN_THE_WAY,
    errno.ENOTDIR: IN_THE_WAY,
}


@contextmanager
def writing(target: Path, written: Path) -> Iterator[None]:
    """Raise an error that names the file and the remedy if writing fails.

    Args:
        target: the path that the user knows.
        written: the temporary file or folder that is filled. Errors of other files than these and
            their folder are not changed.

    Raises:
        DiskError: no room, a limit, or no permission.
    """
    try:
        yield
    except DiskError as error:  # of a file in it, with a hidden name that the user does not know
        raise DiskError(str(error).replace(f"{written}", f"{target}", 1)) from None
    except OSError as error:
        if not _is_about(error, written):
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
    """Return the nearest existing folder above a file."""
    return next(folder for folder in path.absolute().parents if folder.is_dir())


Readable = str | os.PathLike[str]
Opener = Callable[..., Any]

# By extension; the exceptions of these and `open` for a missing or damaged file.
OPENERS: dict[str, Opener] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)

# File descriptors of a shell, and `<(...)`: pipes with an open other end.
HANDED_DOWN = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")

# The name of a piece: .NAME.HOST-PROCESS-RUN.tmp, with -MORE before .tmp for a folder, and .old
# after it for a folder that is being replaced. RUN is random, since process numbers in containers
# repeat.
HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
RUN = secrets.token_hex(3)
PIECE = re.compile(
    r"\.(?P<name>.+)\.(?P<host>\w{8})-(?P<process>\d+)-(?P<run>\w{6})(-\w+)?\.tmp(?P<old>\.old)?"
)
# Processes of other hosts cannot be checked; their pieces are kept for this time.
PATIENCE = 7 * 24 * 3600  # seconds


def open_plain(path: Readable, mode: str = "rb", opener: Opener = open, **how: Any) -> Any:
    """Open a file for reading, with `open` or another opener.

    Raises:
        OSError: it cannot be read, or it is a device or a pipe, which could block forever.
    """
    try:
        mode_bits = os.stat(path).st_mode
    except ValueError:  # half a character, or NUL
        raise OSError(errno.EINVAL, "not a valid file name", os.fspath(path)) from None
    named = os.fspath(path).startswith(HANDED_DOWN)
    if not (stat.S_ISREG(mode_bits) or stat.S_ISDIR(mode_bits) or named):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file", os.fspath(path))
    return opener(path, mode, **how)


def open_file(path: Path, mode: str = "rb", **how: Any) -> Any:
    """Open a file as `open_plain` does; decompress it if its name has such an extension."""
    return open_plain(path, mode, OPENERS.get(path.suffix, open), **how)


def why_unreadable(path: Readable, error: Exception) -> str:
    """Return a line with the path, the reason why a file cannot be read, and the remedy."""
    reason = getattr(error, "strerror", None) or error
    return f"{os.fspath(path)}: cannot be read ({reason}); {_to_read(path, error)}"


def _to_read(path: Readable, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EACCES, errno.EPERM):
        return "allow reading it (chmod u+rX), or name another"
    if number == errno.EISDIR:
        return "name a file"
    if number in (errno.ENOENT, errno.ELOOP) and os.path.islink(path):
        return f"it is a link to {os.readlink(path)}; fix the link, or name another file"
    if number is None and Path(path).suffix in OPENERS:
        return f"make it again, or remove {Path(path).suffix} from its name if it is not compressed"
    return "check the path"


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse outputs that are also inputs, under any name, before anything is computed.

    Args:
        outputs: files, or folders that are replaced; None for optional outputs that are not used.
        inputs: files and folders.

    Raises:
        DiskError: an output is one of the inputs, or two outputs are the same.
    """
    taken = [path for path in inputs if path is not None]
    for output in filter(None, outputs):
        for other in taken:
            if _is_same(output, other):
                known = "" if output == other else f", which is {other}"
                raise DiskError(f"{output}{known}: would be overwritten; name another output")
        taken.append(output)


def _is_same(path: Path, other: Path) -> bool:
    """Return whether two paths name one file or folder, through links of either kind."""
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):  # one does not exist
        return os.path.realpath(path) == os.path.realpath(other)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file to fill; it becomes `path` only when filled without an error.

    Two processes that write the same file use different temporary files. The content is on the
    disk before it gets its name, so after a power failure the file is the older or the newer one.

    Raises:
        DiskError: no room, no permission, or `path` is a folder, a pipe or a device.
    """
    if path.is_dir() and not path.is_symlink():  # `link` replaces links to folders
        raise DiskError(f"{path}: is a folder; name a file")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DiskError(f"{path}: is a pipe or a device; name a file")
    temporary = path.with_name(f".{path.name}.{_process()}.tmp")
    with folder_of(path, temporary):
        try:
            with writing(path, temporary):
                yield temporary
                to_disk(temporary)
                os.replace(temporary, path)
                to_disk(path.parent)
        except OSError as error:
            if error.filename == str(temporary):  # which nobody has named
                error.filename = str(path)
            raise
        finally:
            with suppress(OSError):  # the error above tells why it could not be written
                temporary.unlink(missing_ok=True)


@contextmanager
def folder_of(path: Path, temporary: Path) -> Iterator[None]:
    """Make the folder of a file that is written in the block; remove it again if that fails.

    Args:
        path: the file.
        temporary: the temporary file.
    """
    new_folders: list[Path] = []  # innermost first
    try:
        with writing(path, temporary):
            new_folders += [folder for folder in path.parents if not folder.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in new_folders:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        raise


def write_text(path: Path, content: str) -> None:
    """Write a text file whole or not at all.

    Bytes of a path that are not UTF-8 become escapes, which JSON restores.
    """
    with whole_file(path) as temporary:
        temporary.write_text(content, encoding="utf-8", errors="backslashreplace")


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces `target` only when filled without an error.

    It is on the disk before it gets its name, as in `whole_file`.
    """
    target = target.resolve()  # replaces the target of a link, not the link
    with scratch_folder(target) as temporary:
        yield temporary
        tree_to_disk(temporary)
        _replace(target, temporary)
        to_disk(target.parent)


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder next to `target`, on the same disk; it is removed at the end.

    Raises:
        DiskError: no room, or no permission.
    """
    start = f".{target.name}.{_process()}-"
    with folder_of(target, target.with_name(start)):
        with writing(target, target.with_name(start)):
            try:
                temporary = Path(tempfile.mkdtemp(".tmp", start, target.parent))
            except OSError as error:  # it names a hidden folder, which the user does not know
                raise OSError(error.errno, error.strerror, str(target.parent)) from None
        temporary.chmod(0o755)  # mkdtemp's folders are private
        try:
            with writing(target, temporary):
                yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def put_in_place(filled: Path, target: Path, is_sound: Callable[[], bool]) -> None:
    """Rename a filled folder to `target`, unless a sound folder of this name exists, which is kept.

    If two commands make the same folder, the first one is kept, and it never disappears.

    Args:
        filled: the folder from `scratch_folder`, next to `target`.
        target: the name.
        is_sound: returns whether the existing folder can be kept.
    """
    tree_to_disk(filled)
    try:
        os.rename(filled, target)  # fails if a file or a non-empty folder has the name
    except OSError:
        if is_sound():
            return
        if target.is_symlink():
            target.unlink()
        _replace(target, filled)
    to_disk(target.parent)


def _replace(target: Path, filled: Path) -> None:
    """Replace an older folder by a filled one; restore it if that fails."""
    old = filled.with_name(filled.name + ".old")
    try:
        if target.exists():
            target.rename(old)
        os.replace(filled, target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    _delete(old)


def link(path: Path, target: Path) -> None:
    """Make `path` a relative link to `target`, so that both can be moved together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        raise DiskError(
            f"{path}: is a folder, expected a link; delete it and run the command again"
        )
    with whole_file(path) as temporary:
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(os.path.relpath(target.resolve(), path.parent.resolve()))


def sweep(folder: Path, name: str = "", deep: bool = False) -> None:
    """Finish or delete the temporary files of killed processes in a folder.

    If a replacement was interrupted between its two renames, it is completed. All other pieces are
    deleted. Pieces of processes that may be alive are kept.

    Args:
        folder: the folder to clean; it may not exist.
        name: only pieces of this file or folder; all if empty.
        deep: also clean the folders below.
    """
    pattern = f".{escape(name) or '*'}.*.tmp*"
    # Older folders first: their replacements are pieces as well.
    pieces = folder.rglob(pattern) if deep else folder.glob(pattern)
    for path in sorted(pieces, reverse=True):
        piece = PIECE.fullmatch(path.name)
        if piece and _is_abandoned(path, piece):
            with suppress(OSError):  # another process is cleaning too, or there is no permission
                if piece["old"]:
                    target = _finish(path, piece)
                    if deep and target.is_dir():  # pieces in it had another path until now
                        sweep(target, deep=True)
                else:
                    _delete(path)


def _finish(old: Path, piece: re.Match[str]) -> Path:
    """Complete the replacement of a folder, whose successor is complete; return the folder."""
    target, filled = old.with_name(piece["name"]), old.with_suffix("")
    if not target.exists():
        os.replace(filled if filled.exists() else old, target)
    _delete(old)
    return target


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _process() -> str:
    return f"{HOST}-{os.getpid()}-{RUN}"


def _is_abandoned(path: Path, piece: re.Match[str]) -> bool:
    """Return whether the process of a piece has ended, or a piece of another host is old."""
    process = int(piece["process"])
    if piece["host"] != HOST or os.name != "posix":
        return time.time() - path.lstat().st_mtime > PATIENCE
    if process == os.getpid():
        return piece["run"] != RUN
    return not is_alive(process)


def as_given_in(directory: str, path: str) -> str:
    """Return a path that a command got in a directory; unchanged where it is not there."""
    there = Path(directory, path)
    return str(there) if there.exists() else path


def is_alive(process: int) -> bool:
    """Return whether a process of this machine runs (POSIX only)."""
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        pass
    return True


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
    """Wait until the disk has all files of a folder."""
    for inner, _, names in os.walk(folder):
        for name in (*names, ""):
            to_disk(Path(inner, name))


@contextmanager
def alone_in(place: Path, busy: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of a folder for the block, against other programs that request it.

    The system releases the lock when the process ends for any reason. Without locks (Windows, some
    network drives) the block runs unlocked. On NFS, Linux only locks files that are open for
    writing, so a file should be locked there.

    Args:
        place: a folder, or a file in it, which is created and kept.
        busy: called if another program holds the lock; an exception from it ends the wait.
    """
    if sys.platform == "win32":
        yield
        return
    from fcntl import LOCK_EX, LOCK_NB, flock

    with writing(place, place):
        handle = os.open(place, os.O_RDONLY if place.is_dir() else os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            busy()
            flock(handle, LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def file_digest(path: Path) -> str:
    """Return a file's SHA-256; OSError if it is not a file."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(content: Any) -> str:
    """Return the SHA-256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def texts_digest(about: str, texts: Iterable[str]) -> str:
    """Return the SHA-256 of `about` and of the texts in order, each with its length."""
    state = hashlib.sha256(about.encode())
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        state.update(len(encoded).to_bytes(8, "little") + encoded)
    return state.hexdigest()


SUMS = "SHA256SUMS"


def seal_folder(folder: Path) -> None:
    """Write SHA256SUMS, which lists the files of a folder and of those below."""
    lines = [f"{file_digest(folder / name)}  {name}\n" for name in files_of(folder)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def files_of(folder: Path) -> list[str]:
    """Return the files of a folder and below, without SHA256SUMS, as named in the list."""
    paths = (path for path in folder.rglob("*") if not path.is_dir())
    return sorted(name for path in paths if (name := path.relative_to(folder).as_posix()) != SUMS)


def sealed_files(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder's list, {} without a list."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def fault_of(folder: Path, names: Iterable[str] | None = None) -> str | None:
    """Return a missing or changed file of a sealed folder, None if there is none.

    Files that are not in the list are ignored, and so is a folder without a list.

    Args:
        folder: the sealed folder.
        names: the files to check; all in the list if None.
    """
    for name, digest in sealed_files(folder).items():
        if names is not None and name not in names:
            continue
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        try:
            if file_digest(path) != digest:
                return f"{name} has changed"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror})"
    return None


def fault_of_sealed(folder: Path, names: Iterable[str] | None = None) -> str | None:
    """Return the result of `fault_of`; a folder without its list counts as damaged."""
    return fault_of(folder, names) if sealed_files(folder) else f"no {SUMS} in it"


def read_json(path: Path, error: type[UserError] = UserError) -> Any:
    """Return the content of a JSON file.

    Args:
        path: the file.
        error: the class to raise.

    Raises:
        UserError: `error`: no such file, not UTF-8, not JSON, or too deep or too long to read.
    """
    try:
        # A named pipe could block forever, and a folder has no content.
        if not path.is_file():
            raise error(f"{path}: no such file")
        return json.loads(path.read_text(encoding="utf-8"), parse_int=_integer)
    except UserError:  # which is a ValueError, too
        raise
    except RecursionError:
        raise error(f"{path}: not a readable JSON file (nested too deeply)") from None
    except OSError as reason:
        raise error(why_unreadable(path, reason)) from reason
    except ValueError as reason:
        raise error(f"{path}: not a readable JSON file ({reason})") from None


def _integer(digits: str) -> int:
    """Return a number that fits into a float; larger numbers would cause errors later."""
    if math.isinf(float(digits)):
        raise ValueError(f"{digits[:20]}... is too large a number")
    return int(digits)


def read_object(path: Path, error: type[UserError] = UserError) -> dict[str, Any]:
    """Return the content of a JSON file that holds an object; arguments and errors as above."""
    content = read_json(path, error)
    if not isinstance(content, dict):
        raise error(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content


# In bytes, of files opened as text in characters: a book fits in, a file without line ends does
# not. Tokenizing takes about a hundred times as much memory as the text.
LONGEST = 2**20


def bounded_lines(
    file: IO[AnyStr], name: str | PathLike[str], error: type[UserError] = UserError
) -> Iterator[AnyStr]:
    """Yield the lines of an open file with their line ends; at most LONGEST is in memory.

    Args:
        file: opened for reading, as bytes or as text.
        name: its path, for messages.
        error: what is raised.

    Raises:
        UserError: `error`: a longer line.
    """
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            unit = "bytes" if isinstance(line, bytes) else "characters"
            raise error(
                f"{name}:{number}: more than {LONGEST:,} {unit} without a line end; "
                "break the line, or check whether this is a text file"
            )
        yield line


def save_array(path: Path, array: Any) -> None:
    """Write a .npy file, as `numpy.save` does.

    NumPy passes an open file to the C library and does not check whether its last bytes, up to a
    buffer of 4,096, were written: on a full disk, an incomplete file would appear complete. An
    object that is not a file but has `write` gets all bytes from Python.

    Raises:
        OSError: it cannot be written whole.
    """
    import numpy as np  # only here: command lines start without it

    with path.open("wb") as file:
        np.save(SimpleNamespace(write=file.write), array)
