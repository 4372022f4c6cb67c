"""Reads what the suites' files have in common: lines, and tab-separated fields without quoting.

In these files a quotation mark is a character like any other: csv's rules would join rows.
Reads: data.readers.tables. Feeds: the readers of the evaluation suites.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from data.examples import DataError
from data.readers.fields import number
from data.readers.tables import PathLike, numbered_lines, stored
from runtime.files import UNREADABLE, open_file
from runtime.lines import bounded_lines


def plain_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of the lines that are not blank, stripped.

    The sets of Cornell's and Illinois' groups were published in Latin-1, and copies of them in
    UTF-8 are about: a file that is not UTF-8 as a whole is read as Latin-1.

    Raises:
        DataError: the file is unreadable, holds no text, or a line that is too long.
    """
    found = False
    for line, text in numbered_lines(path, _encoding(path)):
        if text := text.strip():
            found = True
            yield line, text
    if not found:
        raise DataError(f"{path}: is empty; expected one text per line")


def _encoding(path: PathLike) -> str:
    try:
        with open_file(stored(Path(path))) as file:
            for line in bounded_lines(file, path, DataError):
                line.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    except UNREADABLE:
        pass  # numbered_lines says what is wrong
    return "utf-8"


def plain_fields(path: PathLike, fewest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, stripped fields) of each line; surplus fields are kept.

    Raises:
        DataError: the file is unreadable, empty or not UTF-8; a line has fewer fields.
    """
    found = False
    for line, text in numbered_lines(path):
        found = True
        fields = [field.strip() for field in text.rstrip("\r\n").split("\t")]
        if len(fields) < fewest:
            raise DataError(
                f"{path}:{line}: {len(fields)} tab-separated field(s), expected {fewest}; "
                "correct or delete the row"
            )
        yield line, fields
    if not found:
        raise DataError(f"{path}: is empty; expected {fewest} tab-separated fields a line")


def plain_table(path: PathLike, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, the fields of `columns`) below a header line, which names the columns.

    Raises:
        DataError: the file is unreadable, empty or not UTF-8; a missing column; no row; a row
            with fewer fields than the header.
    """
    places: list[int] = []
    width, rows = 1, 0
    for line, fields in plain_fields(path, 1):
        if not places:
            places, width = _places(path, fields, columns), len(fields)
            continue
        if len(fields) < width:
            raise DataError(
                f"{path}:{line}: {len(fields)} tab-separated field(s), the header has {width}; "
                "correct or delete the row"
            )
        rows += 1
        yield line, [fields[place] for place in places]
    if not rows:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")


def _places(path: PathLike, header: list[str], columns: Sequence[str]) -> list[int]:
    missing = [name for name in columns if name not in header]
    if missing:
        raise DataError(
            f"{path}:1: no column {', '.join(map(repr, missing))}; expected tab-separated columns "
            f"with {', '.join(map(repr, columns))}; correct the header"
        )
    return [header.index(name) for name in columns]


def choice(where: str, text: str, labels: Sequence[str]) -> int:
    """Return which of the labels a field holds.

    Raises:
        DataError: it is none of them.
    """
    if text not in labels:
        expected = ", ".join(labels)
        raise DataError(f"{where}: label is {text[:40]!r}, expected one of {expected}; correct it")
    return labels.index(text)


def score(where: str, text: str, largest: float = 5.0) -> float:
    """Return a similarity from 0 to `largest`.

    Raises:
        DataError: the field holds no such number.
    """
    value = number(text)
    if value is None or not 0 <= value <= largest:
        raise DataError(
            f"{where}: score is {text[:40]!r}, expected a number from 0 to {largest:g}; correct it"
        )
    return value
