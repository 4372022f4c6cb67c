"""Mutated input files: each is read as a plain reader reads it, or refused in one line."""

import logging
import math
import random
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from campaigns.kinds import KINDS, Kind
from campaigns.mutations import HARMLESS, mutated
from campaigns.outcomes import Trial
from campaigns.plain_forms import Rows
from runtime.errors import UserError

LONGEST = 20  # seconds; no file takes a tenth of one


class Hang(BaseException):
    """It took too long."""


def inputs(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield `count` trials, in turn of each kind of file, or of `only` some."""
    draw = random.Random(seed)
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGALRM, _hang)
    kinds = [kind for kind in KINDS if not only or kind.name in only]
    for number in range(count):
        kind = kinds[number % len(kinds)]
        accident, content = mutated(kind.content, draw)
        place = folder / "input"
        place.mkdir()
        (place / kind.name).write_bytes(content)
        yield Trial("inputs", kind.name, accident, *_judged(kind, accident, content, place))
        shutil.rmtree(place)


def _hang(*_: Any) -> None:
    raise Hang


def _judged(kind: Kind, accident: str, content: bytes, place: Path) -> tuple[str, str]:
    """Return the outcome, and what was said or read where that is wrong."""
    signal.alarm(LONGEST)
    try:
        rows = kind.read(place / kind.name)
    except UserError as error:
        if accident in HARMLESS and kind.is_text:
            return "refused though sound", str(error)
        return ("refused" if len(str(error).splitlines()) == 1 else "several lines"), str(error)
    except Hang:
        return "hang", ""
    except Exception as error:
        return "traceback", repr(error)[:500]
    finally:
        signal.alarm(0)
    return _compared(kind, accident, content, rows)


def _compared(kind: Kind, accident: str, content: bytes, rows: Rows) -> tuple[str, str]:
    try:
        expected = kind.plain(kind.content if accident in HARMLESS else content)
    except Exception as error:
        return "read what is broken", f"{error!r}: {rows}"[:500]
    if not _alike(rows, expected):
        pairs = zip(rows, expected, strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), None)
        return "other rows", f"{len(rows)} for {len(expected)}, {first}"[:500]
    labels = [row[-1] for row in rows] if kind.largest is not None else []
    if not all(math.isfinite(label) and label <= kind.largest for label in labels):
        return "label out of range", str(labels)[:500]
    return "read", ""


def _alike(rows: Rows, expected: Rows) -> bool:
    return len(rows) == len(expected) and all(map(_same, rows, expected))


def _same(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two rows are equal, numbers to float32."""
    return len(row) == len(other) and all(
        math.isclose(one, two, rel_tol=1e-6) if isinstance(one, float) else one == two
        for one, two in zip(row, other, strict=True)
    )
