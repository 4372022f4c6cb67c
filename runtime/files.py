"""Files and folders that appear whole or not at all, and the openers of compressed files."""

import bz2
import gzip
import lzma
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# By the end of a file's name; what these and `open` raise of a missing or damaged file.
OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file to fill; it becomes `path` only when filled without an error.

    Two processes that write the same file never write into each other's.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    """Write a text file whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces `target` only when filled without an error."""
    target = target.resolve()  # replaces what a link points to, not the link
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    temporary.chmod(0o755)  # mkdtemp's folders are private
    try:
        yield temporary
        _replace(target, temporary)
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
