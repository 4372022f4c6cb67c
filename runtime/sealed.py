"""Files and folders that know what is in them: damage is found before anything is computed from it.

A sealed file ends with a mark and a SHA-256, of its own name and of all before the mark; readers of
.npy and .pt files do not look behind the end. A sealed folder holds SHA256SUMS, a list of its other
files, which `sha256sum -c` understands. Both find accidents; whoever wants to can seal anew.
Reading 1 GB for its seal takes about a second. Feeds: caches, states, checkpoints.
"""

import hashlib
import os
from pathlib import Path

from runtime.digests import file_digest

MARK = b"sha-256:"
SEAL = len(MARK) + hashlib.sha256().digest_size  # bytes
BLOCK = 1 << 20  # bytes
SUMS = "SHA256SUMS"


def seal(path: Path, name: str) -> None:
    """Append the seal to a file that is complete and will be called `name`."""
    found = _seal_of(path, name, path.stat().st_size)
    with path.open("ab") as file:
        file.write(found)


def is_sealed(path: Path) -> bool:
    """Return whether a file is there, under the name and with the content that were sealed."""
    try:
        length = path.stat().st_size - SEAL
        with path.open("rb") as file:
            file.seek(max(0, length))
            return file.read() == _seal_of(path, path.name, length)
    except OSError:
        return False


def _seal_of(path: Path, name: str, length: int) -> bytes:
    """Return the seal of a file's first bytes."""
    found = hashlib.sha256(os.fsencode(name))
    with path.open("rb") as file:
        while length > 0 and (block := file.read(min(BLOCK, length))):
            found.update(block)
            length -= len(block)
    return MARK + found.digest()


def seal_folder(folder: Path) -> None:
    """Write SHA256SUMS, which lists the files of a folder and of those below."""
    lines = [f"{file_digest(folder / name)}  {name}\n" for name in files_of(folder)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def files_of(folder: Path) -> list[str]:
    """Return the files of a folder and of those below, SHA256SUMS apart, as the list names them."""
    found = (path for path in folder.rglob("*") if not path.is_dir())
    return sorted(name for path in found if (name := path.relative_to(folder).as_posix()) != SUMS)


def sealed_files(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a folder's list names, {} where there is no list."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def fault_of(folder: Path) -> str | None:
    """Return which file of a sealed folder is missing or changed, None if none is.

    Files that the list does not name are left alone, and so is a folder without a list.
    """
    for name, digest in sealed_files(folder).items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if file_digest(path) != digest:
            return f"{name} has changed"
    return None
