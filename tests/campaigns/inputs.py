"""Mutated input files: each is read, labels within their range, or refused in one line.

What only a spreadsheet's habits have changed is read as before, and the course's files as its own
code reads them.
"""

import logging
import math
import random
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from campaigns.kinds import KINDS, Kind, Rows
from campaigns.mutations import HARMLESS, mutated
from campaigns.outcomes import Trial
from runtime.errors import UserError

LONGEST = 20  # seconds; no file takes a tenth of one


class Hang(BaseException):
    """It took too long."""


def inputs(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield `count` trials, in turn of each kind of file, or of `only` some."""
    draw = random.Random(seed)
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGALRM, _hang)
    place = folder / "input"
    kinds = [kind for kind in KINDS if not only or kind.name in only]
    sound = {kind.name: _read(kind, kind.content, place) for kind in kinds}
    for number in range(count):
        kind = kinds[number % len(kinds)]
        accident, content = mutated(kind.content, draw)
        harmless = accident in HARMLESS and not kind.name.endswith(".xz")
        expected = sound[kind.name] if harmless else None
        yield Trial("inputs", kind.name, accident, *_judged(kind, content, place, expected))


def _hang(*_: Any) -> None:
    raise Hang


def _read(kind: Kind, content: bytes, place: Path) -> Rows:
    place.mkdir()
    (place / kind.name).write_bytes(content)
    signal.alarm(LONGEST)
    try:
        return kind.read(place / kind.name)
    finally:
        signal.alarm(0)
        shutil.rmtree(place)


def _judged(kind: Kind, content: bytes, place: Path, expected: Rows | None) -> tuple[str, str]:
    """Return the outcome, and what was said or read; `expected` are rows that must be read."""
    try:
        rows = _read(kind, content, place)
    except UserError as error:
        if expected is not None:
            return "refused though sound", str(error)
        return ("refused" if len(str(error).splitlines()) == 1 else "several lines"), str(error)
    except Hang:
        return "hang", ""
    except Exception as error:
        return "traceback", repr(error)[:500]
    labels = [row[-1] for row in rows] if kind.largest is not None else []
    if not all(math.isfinite(label) and label <= kind.largest for label in labels):
        return "label out of range", str(labels)[:500]
    if kind.columns:
        try:
            expected = kind.as_the_course_reads(content)
        except Exception as error:
            return "read what is broken", f"{error!r}: {rows}"[:500]
    if expected not in (None, rows):
        return "other rows", f"{rows} for {expected}"[:500]
    return "read", ""
