"""Downloads one published file over a network that may break off at any time.

A file grows as NAME.part, is continued where it broke off, checked, and only then moved to NAME:
a file under its final name is complete. Meanwhile NAME.part.version holds the server's mark of the
version that is arriving (ETag or date): parts of two versions are never joined.
Reads: data.fetch.sources. Feeds: locate, data.download.
"""

import logging
import os
import re
import time
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tqdm import tqdm

from data.examples import DataError
from data.fetch.sources import RemoteFile
from runtime.digests import file_digest
from runtime.files import open_plain, to_disk
from runtime.locks import alone_in

logger = logging.getLogger("data")

TIMEOUT = 30  # seconds without a byte
ATTEMPTS = 5
RETRY_PAUSE = 1.0  # seconds
BLOCK = 1 << 18  # bytes
PASSING_ERRORS = (408, 429, 500, 502, 503, 504)  # worth another attempt


class DownloadError(DataError):
    """A file could not be downloaded or stored; the message is one line: where, why, what to do."""


class _BrokenTransfer(Exception):
    """The transfer broke off; what has arrived stays in the .part file for the next attempt."""


def fetch(remote: RemoteFile, folder: str | os.PathLike[str], progress: bool = True) -> Path:
    """Return the path of the file in `folder`, downloaded unless it is there as published.

    Raises:
        DownloadError: no network, the server refuses, the content is not what was published, or
            the disk cannot be written. Nothing new is then left under the final name.
    """
    target = Path(folder) / remote.name
    part = target.with_name(target.name + ".part")
    try:
        if target.is_file() and not fault(remote, target):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(target.parent, partial(_say_busy, target.parent)):
            if target.is_file():  # damaged, or downloaded by another program while we waited
                if not (problem := fault(remote, target)):
                    return target
                logger.warning("%s: %s; downloading it again", target, problem)
            _transfer(remote, part, progress)
            if problem := fault(remote, part):
                part.unlink()
                _version_file(part).unlink(missing_ok=True)
                raise DownloadError(f"{remote.url}: {problem}; deleted it, try again later")
            to_disk(part)
            _version_file(part).unlink(missing_ok=True)  # first: nobody looks for it afterwards
            os.replace(part, target)
            to_disk(target.parent)
    except OSError as error:
        reason = error.strerror or error
        raise DownloadError(f"{target}: not stored ({reason}); choose another folder") from error
    return target


def _say_busy(folder: Path) -> None:
    logger.warning("%s: another program is downloading into it; waiting", folder)


def fault(remote: RemoteFile, path: Path) -> str | None:
    """Return how a file differs from the published one (expected and got), None if it does not.

    Where size and hash are not known, the usual stand-ins for a file are still recognised.
    """
    size = path.stat().st_size
    with open_plain(path) as file:
        head = file.read(64).lstrip().lower()
    if head.startswith(b"version https://git-lfs"):
        return "expected the data, got a Git LFS pointer to it"
    if head.startswith((b"<!doctype", b"<html")):
        return "expected the data, got an HTML page"
    if size == 0 or remote.size not in (None, size):
        return f"expected {remote.size or 'some'} bytes, got {size}"
    if remote.sha256 and (digest := file_digest(path)) != remote.sha256:
        return f"expected SHA-256 {remote.sha256}, got {digest}"
    return None


def _transfer(remote: RemoteFile, part: Path, progress: bool) -> None:
    """Complete the part file, in several attempts if need be."""
    for attempt in range(ATTEMPTS):
        time.sleep(RETRY_PAUSE if attempt else 0)
        try:
            return _continue(remote, part, progress)
        except _BrokenTransfer as error:
            reason = error
    raise DownloadError(
        f"{remote.url}: {reason} ({ATTEMPTS} attempts); check the network and run again to resume"
    )


def _continue(remote: RemoteFile, part: Path, progress: bool) -> None:
    """Request what the part file lacks, once, and append it."""
    offset = part.stat().st_size if part.exists() else 0
    version = _version_file(part).read_text("utf-8") if _version_file(part).is_file() else ""
    if not version and remote.sha256 is None:
        offset = 0  # nothing would tell if the file has changed since
    with _open(remote.url, offset, version) as response:
        start, total = _span(response)
        total = remote.size if total is None else total
        found = _version_of(response)
        if start and version and found and version != found:
            part.unlink()
            raise _BrokenTransfer("the server has another version of it now")
        if response.status == 416 and offset == total:
            return  # nothing lies beyond what we have
        if start not in (0, offset):
            part.unlink()
            raise _BrokenTransfer(f"the server would not continue at byte {offset}")
        if total is None and not response.chunked:
            raise DownloadError(f"{remote.url}: the server tells no length to check against")
        if not start:
            part.write_bytes(b"")  # before the mark: never an older part under a newer one
            _version_file(part).write_text(found, "utf-8")
        with part.open("ab") as file:
            _copy(response, file, _bar(remote.name, start, total, progress))
    size = part.stat().st_size
    if total is not None and size != total:
        raise _BrokenTransfer(f"the transfer broke off at {size} of {total} bytes")


def _version_file(part: Path) -> Path:
    return part.with_name(part.name + ".version")


def _version_of(response: Any) -> str:
    """Return the server's mark of a version, "" without an exact one (RFC 9110, 13.1.5)."""
    tag: str = response.headers.get("ETag", "")
    return "" if tag.startswith("W/") else tag or response.headers.get("Last-Modified", "")


def _open(url: str, offset: int, version: str) -> Any:
    """Return the server's response, to be closed; its status is 200, 206 or 416.

    From `offset` on, if the server still has `version` of the file; all of it otherwise.
    """
    headers = {"User-Agent": "python-data-download"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        headers |= {"If-Range": version} if version else {}
    try:
        return urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and offset:
            return error  # urllib's errors are responses as well
        error.close()
        if error.code in PASSING_ERRORS:
            raise _BrokenTransfer(f"the server answers {error.code}") from error
        raise DownloadError(
            f"{url}: the server answers {error.code} ({error.reason}), expected the file; "
            "it may have moved: download it by hand into the folder"
        ) from error
    except (OSError, HTTPException) as error:
        raise _BrokenTransfer(f"cannot be reached ({_reason(error)})") from error


def _span(response: Any) -> tuple[int, int | None]:
    """Return (byte at which the body starts, length of the whole file or None).

    The start is -1 where the server sends no part of the file, or does not say which.
    """
    if response.status == 200:
        return 0, response.length  # parsed from Content-Length by http.client
    pattern = r"bytes (?:(\d+)-\d+|\*)/(?:(\d+)|\*)"
    match = re.fullmatch(pattern, response.headers.get("Content-Range", ""))
    start, total = match.groups() if match else (None, None)
    return int(start or -1), int(total) if total else None


def _bar(name: str, start: int, total: int | None, progress: bool) -> tqdm:
    off = None if progress else True  # None: off unless stderr is a terminal
    return tqdm(desc=name, initial=start, total=total, unit="B", unit_scale=True, disable=off)


def _copy(response: Any, file: BinaryIO, bar: tqdm) -> None:
    with bar:
        while block := _read(response):
            file.write(block)
            bar.update(len(block))


def _read(response: Any) -> bytes:
    """Read a block. An OSError here is the network's; in file.write it is the disk's."""
    try:
        return bytes(response.read(BLOCK))
    except (OSError, HTTPException) as error:
        raise _BrokenTransfer(f"the transfer broke off ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    return " ".join(str(getattr(error, "reason", error)).split())
