"""The texts to index or to ask: one per line of a file or of stdin, with their ids."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from data.examples import DataError
from data.tables import decoded_lines, numbered_lines

STDIN = Path("-")


class Row(NamedTuple):
    """A text and its id, neither with a line end; the id has no tab."""

    id: str
    text: str


def read_rows(
    path: Path, with_ids: bool = False, lines_before: int = 0
) -> Iterator[tuple[int, Row]]:
    """Yield (line number, text) of a file; texts are stripped, empty lines skipped, but counted.

    Args:
        path: a file with one text per line; "-" is stdin.
        with_ids: each line is `id<TAB>text`; else the line number is the id.
        lines_before: added to the line numbers.

    Raises:
        DataError: an unreadable file, a line that is not UTF-8, or one without id or text; at the
            end, no text at all.
    """
    name, found = _name(path), False
    for number, line in lines_of(path):
        counted = lines_before + number
        id, _, text = line.strip().partition("\t") if with_ids else (str(counted), "", line)
        if not line.strip():
            continue
        if not id.strip() or not text.strip():
            raise DataError(f"{name}:{number}: expected ID<TAB>TEXT; add ids, or leave out --ids")
        found = True
        yield counted, Row(id.strip(), text.strip())
    if not found:
        raise DataError(f"{name}: is empty; expected one text per line")


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line with its line end) of a file, or of stdin.

    Raises:
        DataError: an unreadable file, or a line that is not UTF-8.
    """
    if path != STDIN:
        yield from numbered_lines(path)
    elif sys.stdin is not None:  # a closed one has no lines
        yield from decoded_lines(sys.stdin.buffer, _name(path))


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)
