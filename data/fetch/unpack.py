"""Unpacks folders of a downloaded archive, each whole or not at all.

Reads: an archive that data.fetch.transfer has stored. Feeds: data.download.
"""

import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

from data.fetch.transfer import DownloadError
from runtime.files import scratch_folder, sweep, to_disk, tree_to_disk


def unpack(archive: Path, members: Sequence[str]) -> list[Path]:
    """Return these folders of a tar archive, unpacked beside it unless they are there.

    Nothing can be written outside: absolute names, `..`, links out of the folder and devices are
    refused (Python's filter "data").

    Raises:
        DownloadError: a broken or refused archive, a folder that is not in it, or a full disk.
            Folders that were there stay as they were.
    """
    targets = [archive.parent / member for member in members]
    if not all(target.is_dir() for target in targets):
        try:
            _unpack(archive, members)
        except (tarfile.TarError, EOFError) as error:
            raise DownloadError(
                f"{archive}: cannot be unpacked ({_one_line(error)}); delete it and run again"
            ) from error
        except OSError as error:
            reason = error.strerror or error
            raise DownloadError(
                f"{archive}: cannot be unpacked ({reason}); choose another folder"
            ) from error
    return targets


def _unpack(archive: Path, members: Sequence[str]) -> None:
    folder = archive.parent
    # Unpacked beside their final place, so that moving them there is one step.
    sweep(folder)
    with scratch_folder(archive) as scratch:
        with tarfile.open(archive) as tar:
            wanted = [entry for entry in tar if Path(entry.name).parts[:1] in _tops(members)]
            tar.extractall(scratch, wanted, filter="data")
        absent = [member for member in members if not (scratch / member).is_dir()]
        if absent:
            raise DownloadError(
                f"{archive}: no folder {' or '.join(absent)} in it; delete it and run again"
            )
        tree_to_disk(scratch)
        for member in members:
            if not (folder / member).is_dir():
                os.rename(scratch / member, folder / member)
    to_disk(folder)


def _tops(members: Sequence[str]) -> list[tuple[str, ...]]:
    return [(member,) for member in members]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
