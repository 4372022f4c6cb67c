"""Looks, with a student's rights, for what no student's code may read.

Its source is run in the sandbox, before any submission: `python -c SOURCE FILE`. FILE holds paths
that must not open, lines and bytecode of solutions, and folders to skip, as those of submissions.
Lines and bytecode are in hexadecimal digits: the file is not what it looks for. Prints JSON: what
was found, and whether time was up before all was looked at. Standard library only.
"""

import json
import os
import stat
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from importlib.util import MAGIC_NUMBER
from typing import Any

ELSEWHERE = ("/proc", "/sys", "/dev")
LEAST_BYTES, MOST_BYTES = 2**8, 2**16  # of a file of the solution


def small_files(folders: list[str], skip: Sequence[str] = ()) -> Iterator[str]:
    """Yield the small plain files below folders, each once, those near the top first.

    No link is followed, and what is in `skip` is left out.
    """
    seen = set()
    waiting = deque(folders)
    while waiting:
        try:
            inside = [*os.scandir(waiting.popleft())]
            entries = [(entry, entry.stat(follow_symlinks=False)) for entry in inside]
        except OSError:  # unreadable, or gone meanwhile
            continue
        for entry, status in entries:
            if entry.is_dir(follow_symlinks=False) and entry.path not in skip:
                waiting.append(entry.path)
            small = stat.S_ISREG(status.st_mode) and LEAST_BYTES < status.st_size < MOST_BYTES
            if small and (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield entry.path


def content(path: str) -> bytes:
    """Return what a file holds, nothing if it cannot be opened."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def is_solution(text: bytes, lines: list[list[bytes]], bytecode: list[bytes]) -> bool:
    """Return whether bytes hold all lines of a solution, or one that Python has compiled."""
    if text.startswith(MAGIC_NUMBER):
        return any(code in text for code in bytecode)
    return b"def " in text and any(all(line in text for line in body) for body in lines)


def look(spec: dict[str, Any]) -> tuple[str, bool]:
    """Return what was found, "" if nothing, and whether time was up before all was looked at."""
    for path in spec["paths"]:
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError:
            continue
        return path, False
    if "lines" not in spec:
        return "", False
    lines = [[bytes.fromhex(line) for line in body] for body in spec["lines"]]
    bytecode = [bytes.fromhex(code) for code in spec["bytecode"]]
    end = time.monotonic() + spec["seconds"]
    for path in small_files([*spec["folders"], "/"], [*ELSEWHERE, *spec["skip"]]):
        if is_solution(content(path), lines, bytecode):
            return path, False
        if time.monotonic() > end:
            return "", True
    return "", False


if __name__ == "__main__":
    with open(sys.argv[1]) as given:
        found, late = look(json.load(given))
    print(json.dumps({"found": found, "late": late}))
