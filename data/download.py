"""Downloads public data sets, and resumes interrupted downloads.

`python -m data.download cs224n`. A file is written as NAME.part, resumed after an interruption,
checked, and only then moved to NAME, so a file under its final name is complete. Every address
names a commit, so parts of two versions are not joined. For files on the Hugging Face hub, the hub
returns the current commit and the file's size and SHA-256; its client does not resume.
"""

import logging
import os
import re
import shutil
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tqdm import tqdm

from data.examples import DataError
from data.sources import DEFAULT_FOLDER, DESCRIPTIONS, FOLDERS, SOURCES, RemoteFile
from runtime.commands import begin, exit_code
from runtime.files import (
    alone_in,
    file_digest,
    open_plain,
    scratch_folder,
    sweep,
    to_disk,
    tree_to_disk,
)
from runtime.options import option, parse

logger = logging.getLogger("data")

TIMEOUT = 30  # seconds without a byte
ATTEMPTS = 5
RETRY_PAUSE = 1.0  # seconds
BLOCK = 1 << 18  # bytes
PASSING_ERRORS = (408, 429, 500, 502, 503, 504)  # worth another attempt
SHA256 = re.compile("[0-9a-f]{64}")


class DownloadError(DataError):
    """A file could not be downloaded or stored; the message is one line: where, why, what to do."""


class _BrokenTransfer(Exception):
    """The transfer broke off; the received bytes stay in the .part file for the next attempt."""


def fetch(remote: RemoteFile, folder: str | os.PathLike[str]) -> Path:
    """Return the path of the file in `folder`, downloaded unless it is there as published.

    Raises:
        DownloadError: no network, the server refuses, the content differs from the published file,
            or the disk cannot be written. The final name is then not changed.
    """
    target = Path(folder) / remote.name
    part = target.with_name(target.name + ".part")
    try:
        if target.is_file() and not fault(remote, target):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        busy = f"{target.parent}: another program is downloading into it; waiting"
        with alone_in(target.parent, lambda: logger.warning(busy)):
            if target.is_file():  # damaged, or downloaded by another program while we waited
                if not (problem := fault(remote, target)):
                    return target
                logger.warning("%s: %s; downloading it again", target, problem)
            resumed = part.is_file()
            remote = _transfer(remote, part)
            if resumed and fault(remote, part):  # the beginning was from another version
                part.unlink()
                remote = _transfer(remote, part)
            if problem := fault(remote, part):
                part.unlink()
                raise DownloadError(f"{remote.url}: {problem}; deleted it, try again later")
            to_disk(part)
            os.replace(part, target)
            to_disk(target.parent)
    except OSError as error:
        reason = error.strerror or error
        raise DownloadError(f"{target}: not stored ({reason}); choose another folder") from error
    return target


def fault(remote: RemoteFile, path: Path) -> str | None:
    """Return how a file differs from the published one (expected and got), None if it does not.

    Without size and hash, the usual replacements of a file (such as error pages) are recognised.
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


def _transfer(remote: RemoteFile, part: Path) -> RemoteFile:
    """Fill the part file in a few attempts; return the description of the complete file.

    Raises:
        DownloadError: the server refuses, or every attempt broke off.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(RETRY_PAUSE)
        try:
            version = _on_hub(remote, part) if remote.hub else remote
            _continue(version, part)
            return version
        except _BrokenTransfer as error:
            broken = error
    raise DownloadError(
        f"{remote.url}: {broken} ({ATTEMPTS} attempts); check the network and run again to resume"
    ) from broken


def _on_hub(remote: RemoteFile, part: Path) -> RemoteFile:
    """Return the current version of a file on the hub: address of its commit, size and SHA-256.

    If the hub's cache on this machine has the file, it is copied into the part file.
    """
    import huggingface_hub as hub

    cached = hub.try_to_load_from_cache(remote.hub, remote.name, repo_type="dataset")
    if isinstance(cached, str):
        shutil.copyfile(cached, part)
        return replace(remote, size=part.stat().st_size)

    def address(commit: str | None) -> str:
        return hub.hf_hub_url(remote.hub, remote.name, repo_type="dataset", revision=commit)

    try:
        latest = hub.get_hf_file_metadata(address(None))
    except Exception as error:  # from the hub's client or one of its libraries
        response = getattr(error, "response", None)
        raise _refusal(address(None), getattr(response, "status_code", None), error) from error
    is_hash = latest.etag and SHA256.fullmatch(latest.etag)
    sha256 = latest.etag if is_hash else remote.sha256
    url = address(latest.commit_hash)
    return replace(remote, url=url, size=latest.size or remote.size, sha256=sha256)


def _continue(remote: RemoteFile, part: Path) -> None:
    """Request the missing rest of the part file, once, and append it."""
    offset = part.stat().st_size if part.exists() else 0
    if offset and offset == remote.size:
        return  # whole
    with _open(remote.url, offset) as response:
        start, total = _span(response)
        total = remote.size if total is None else total
        if response.status == 416 and offset == total:
            return  # the part file is already complete
        if start not in (0, offset):
            part.unlink()
            raise _BrokenTransfer(f"the server would not continue at byte {offset}")
        if total is None and not response.chunked:
            raise DownloadError(f"{remote.url}: the server sends no length to check against")
        # disable=None: no bar unless stderr is a terminal.
        bar = tqdm(
            desc=remote.name, initial=start, total=total, unit="B", unit_scale=True, disable=None
        )
        with bar, part.open("ab" if start else "wb") as file:
            while block := _read(response):
                file.write(block)
                bar.update(len(block))
    size = part.stat().st_size
    if total is not None and size != total:
        raise _BrokenTransfer(f"the transfer broke off at {size} of {total} bytes")


def _open(url: str, offset: int) -> Any:
    """Return the server's response, to be closed: from `offset` on; its status is 200, 206 or 416.

    A server that cannot resume sends the whole file.
    """
    headers = {"User-Agent": "python-data-download"}
    headers |= {"Range": f"bytes={offset}-"} if offset else {}
    try:
        return urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and offset:
            return error  # urllib's errors are responses as well
        error.close()
        raise _refusal(url, error.code, error.reason) from error
    except (OSError, HTTPException) as error:
        raise _refusal(url, None, getattr(error, "reason", error)) from error


def _refusal(url: str, status: int | None, reason: object) -> DownloadError | _BrokenTransfer:
    """Return the error of a server's answer, or of a missing one; some allow another attempt."""
    if status is None:
        return _BrokenTransfer(f"cannot be reached ({_one_line(reason)})")
    if status in PASSING_ERRORS:
        return _BrokenTransfer(f"the server answers {status}")
    return DownloadError(
        f"{url}: the server answers {status} ({_one_line(reason)}), expected the file; "
        "it may have moved: download it by hand into the folder"
    )


def _span(response: Any) -> tuple[int, int | None]:
    """Return (byte at which the body starts, length of the whole file or None).

    The start is -1 if the server sends no part of the file, or does not state which.
    """
    if response.status == 200:
        return 0, response.length  # parsed from Content-Length by http.client
    pattern = r"bytes (?:(\d+)-\d+|\*)/(?:(\d+)|\*)"
    match = re.fullmatch(pattern, response.headers.get("Content-Range", ""))
    start, total = match.groups() if match else (None, None)
    return int(start or -1), int(total) if total else None


def _read(response: Any) -> bytes:
    """Read a block. An OSError here is the network's; in file.write it is the disk's."""
    try:
        return bytes(response.read(BLOCK))
    except (OSError, HTTPException) as error:
        reason = _one_line(getattr(error, "reason", error))
        raise _BrokenTransfer(f"the transfer broke off ({reason})") from error


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


# --- archives


def unpack(archive: Path, members: Sequence[str]) -> list[Path]:
    """Return these folders of a tar archive; unpack them next to it unless they exist.

    Nothing can be written outside this place: absolute names, `..`, links out of the folder and
    devices are refused (Python's filter "data").

    Raises:
        DownloadError: a broken or refused archive, a folder that is not in it, or a full disk.
            Existing folders are not changed.
    """
    sweep(archive.parent, archive.name)
    targets = [archive.parent / member for member in members]
    if all(target.is_dir() for target in targets):
        return targets
    try:
        # Unpacked on the same disk as their final place, so moving them is one step.
        with scratch_folder(archive) as scratch:
            with tarfile.open(archive) as tar:
                tops = {(member,) for member in members}
                wanted = [entry for entry in tar if Path(entry.name).parts[:1] in tops]
                tar.extractall(scratch, wanted, filter="data")
            absent = [member for member in members if not (scratch / member).is_dir()]
            if absent:
                raise DownloadError(
                    f"{archive}: no folder {' or '.join(absent)} in it; delete it and run again"
                )
            tree_to_disk(scratch)
            for member, target in zip(members, targets, strict=True):
                if not target.is_dir():
                    os.rename(scratch / member, target)
        to_disk(archive.parent)
    except (tarfile.TarError, EOFError, OSError) as error:
        remedy = (
            "choose another folder" if isinstance(error, OSError) else "delete it and run again"
        )
        reason = getattr(error, "strerror", None) or _one_line(error)
        raise DownloadError(f"{archive}: cannot be unpacked ({reason}); {remedy}") from error
    return targets


# --- the command

INTERRUPTED = "\ninterrupted; run the same command again to resume"
DESCRIPTION = """\
Download public data sets. Run the same command again to resume an interrupted
download; complete files are not downloaded again. The Chinese STS-Benchmark
(cnsd-sts-*.txt), the untokenised STS files and the fourth subset of STS13 have
no lasting address. Copy them into the folder by hand."""
PROGRAM = "python -m data.download"
EPILOG = f"example: {PROGRAM} cs224n nli --out my-folder"


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    names: tuple[str, ...] = option(
        (),
        "; ".join(f"{name} = {what}" for name, what in DESCRIPTIONS.items()),
        flag="names",
        metavar="NAME",
    )
    out: Path | None = option(
        None,
        f"folder for the files (default: {DEFAULT_FOLDER / 'NAME'}; for sts and transfer: "
        f"{DEFAULT_FOLDER / 'senteval'})",
        metavar="DIR",
    )
    listing: bool = option(
        False, "list all files with their URLs, without downloading", flag="--list"
    )


def download(options: Options) -> None:
    """Download the data sets in the options, or list all.

    Raises:
        DataError: an unknown data set, no network, or no place to store it.
    """
    if options.listing:
        for name, files in SOURCES.items():
            print(f"{name}:")
            for remote in files:
                size = f"{remote.size:,} bytes" if remote.size else "size unknown"
                parts = f"  {', '.join(remote.members)} in" if remote.members else ""
                print(f"{parts}  {remote.name}  ({size})  {remote.url}")
        return
    for name in options.names or [""]:
        if name not in SOURCES:
            problem = f"unknown data set {name!r}" if name else "no data set named"
            raise DataError(f"{problem}, expected one of {', '.join(SOURCES)}; see --list")
        folder = (options.out or DEFAULT_FOLDER / FOLDERS.get(name, name)).absolute()
        for remote in SOURCES[name]:
            path = fetch(remote, folder)
            print(path, flush=True)
            for unpacked in unpack(path, remote.members):
                print(unpacked, flush=True)
        print(f"{name}: {len(SOURCES[name])} file(s) in {folder}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 (input, network or disk) or 130 (interrupted)."""
    options = parse(Options, argv, prog=PROGRAM, description=DESCRIPTION, epilog=EPILOG)
    return exit_code(lambda: download(options), INTERRUPTED)


if __name__ == "__main__":
    begin(INTERRUPTED)
    sys.exit(main())
