"""Reads files of lines, fields and tables, compressed or not; errors name the file and the line.

`records` reads the rows of every table, by csv's rules for quotes or without quoting; `read_table`
names their fields, and `plain_fields` counts them where no header does.
"""

import codecs
import csv
import hashlib
import math
import os
import re
import string
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import IO, Any

from data.examples import DataError
from runtime.files import OPENERS, UNREADABLE, bounded_lines, open_file

PathLike = str | os.PathLike[str]

DELIMITER_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}


# --- files and their lines


def stored(path: Path) -> Path:
    """Return a file's path, or that of its compressed form where only this is there."""
    packed = (path.with_name(path.name + ending) for ending in OPENERS)
    return path if os.path.lexists(path) else next(filter(os.path.isfile, packed), path)


def plain_name(path: Path) -> str:
    """Return the name of a file without the ending of a compressed one."""
    return path.stem if path.suffix in OPENERS else path.name


def content_digest(path: Path) -> str:
    """Return the SHA-256 of what a file holds, the same whether it is compressed or not."""
    try:
        with open_file(stored(path)) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def numbered_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line with its line end), without a byte order mark.

    Lines end at a line feed only, so exotic Unicode separators inside a sentence do not cut it.
    Each line is decoded by itself, so that a bad byte has a line number. A compressed file (.xz,
    .gz, .bz2) is read as what it holds, and found by its name without that ending, too.

    Raises:
        DataError: the file is missing, a directory, unreadable, or not in this encoding; a line
            is longer than `runtime.files.LONGEST`.
    """
    try:
        with open_file(stored(Path(path))) as file:
            yield from decoded_lines(file, path, encoding)
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def _unreadable(path: PathLike, error: Exception) -> DataError:
    reason = getattr(error, "strerror", None) or error
    return DataError(f"{path}: cannot be read ({reason}); check the path")


def decoded_lines(
    file: IO[bytes], path: PathLike, encoding: str = "utf-8"
) -> Iterator[tuple[int, str]]:
    """Yield the lines of an open file as `numbered_lines` does; `path` is for messages."""
    for number, raw in enumerate(bounded_lines(file, path, DataError), start=1):
        if number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            yield number, raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}:{number}: byte 0x{raw[error.start]:02x} is not valid UTF-8; "
                "save the file as UTF-8 text"
            ) from error


def text_lines(path: PathLike, latin: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number, text without the white space around it) of all lines, blank ones too.

    With `latin`, a file that is not UTF-8 as a whole is read as Latin-1: some published sets are in
    Latin-1, and copies of them in UTF-8.
    """
    empty = True
    for number, text in numbered_lines(path, _encoding(path) if latin else "utf-8"):
        text = text.strip()
        empty = empty and not text
        yield number, text
    if empty:
        raise DataError(f"{path}: is empty; expected one sentence per line")


def _encoding(path: PathLike) -> str:
    try:
        for _ in numbered_lines(path):
            pass
    except DataError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            return "latin-1"
    return "utf-8"


# --- tables


def records(
    path: PathLike, delimiter: str, quotes: bool = False, spans: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of each line that is not empty: every table is read by this.

    A record is one line, as in all published files: a quotation mark without its partner is an
    error of its line, and no rows below it are lost.

    Args:
        path: as in `numbered_lines`.
        delimiter: what separates fields; with `quotes`, one character.
        quotes: csv's rules hold, as in the course's own code: a field may stand in quotation
            marks, and blanks around it belong to it. Without, as the evaluation suites are
            written, a quotation mark is a character like any other, and fields are stripped.
        spans: a quoted field may hold line ends, as spreadsheets write them; the number is that
            of the record's first line.

    Raises:
        DataError: as `numbered_lines`; a NUL byte, an open quote, a field beyond csv's limit.
    """
    lines = numbered_lines(path)
    for line, text in lines:
        if not text.rstrip("\r\n"):
            continue
        where = f"{path}:{line}"
        if quotes:
            # Inside an open quote csv asks for the lines below.
            below = (text for _, text in lines) if spans else iter([""])
            fields = _quoted_fields(where, chain([text], below), delimiter, spans)
        else:
            fields = [field.strip() for field in text.split(delimiter)]
        if any("\0" in field for field in fields):
            raise DataError(
                f"{where}: holds a NUL byte, so it is not plain text; "
                "download or export the file again as UTF-8 text"
            )
        yield line, fields


def _quoted_fields(where: str, lines: Iterator[str], delimiter: str, spans: bool) -> list[str]:
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        fields = next(reader)
    except csv.Error as error:
        raise DataError(f"{where}: {error}; look for an unbalanced quote in this row") from error
    if reader.line_num > 1 and not spans:
        raise DataError(
            f"{where}: a quotation mark opens a field that does not end on this line; close or "
            "delete the quote, and keep each row on one line"
        )
    return fields


def read_header(path: PathLike, delimiter: str, quotes: bool = True) -> list[str]:
    """Return the column names in the first line of a table; arguments as of `records`."""
    for _, fields in records(path, delimiter, quotes):
        return fields
    raise DataError(f"{path}: is empty; expected a header line and rows")


def read_table(
    path: PathLike,
    required_columns: Sequence[str],
    delimiter: str,
    ragged: bool = False,
    *,
    quotes: bool = True,
    spans: bool = False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, row as {column: text}) of a table, streaming.

    Args:
        path: a file whose first line names the columns; this and the others as in `records`.
        required_columns: names the header must hold; other columns are allowed.
        delimiter: between fields.
        ragged: let rows of another width through: missing fields are None.
        quotes: csv's rules hold, and rows are as wide as the header; without, a row may be of any
            width that has the required columns.
        spans: a quoted field may hold line ends.

    Raises:
        DataError: as `records`; an empty file; a missing column, or two of one name; no row; a row
            of another width.
    """
    rows = records(path, delimiter, quotes, spans)
    line, header = next(rows, (1, []))
    if not header:
        raise DataError(f"{path}: is empty; expected a header line and rows")
    _check_header(f"{path}:{line}", header, required_columns, delimiter)
    fewest = 0 if ragged else len(header)
    if not quotes:
        fewest = 1 + max(map(header.index, required_columns))
    empty = True
    for line, fields in rows:
        empty = False
        if len(fields) < fewest or (len(fields) > fewest and quotes and not ragged):
            raise _wrong_width(f"{path}:{line}", fields, fewest, delimiter)
        yield line, dict(zip_longest(header, fields[: len(header)]))
    if empty:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")


def plain_fields(
    path: PathLike, fewest: int, header: str | None = None, delimiter: str = "\t"
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of rows without quoting; surplus fields are kept.

    Args:
        path: as in `records`.
        fewest: fields of a row.
        header: the first name of a line of column names, which copies of the file lack.
        delimiter: between fields.
    """
    empty = True
    for line, fields in records(path, delimiter):
        if len(fields) < fewest:
            raise _wrong_width(f"{path}:{line}", fields, fewest, delimiter)
        if line == 1 and fields[0] == header:
            continue
        empty = False
        yield line, fields
    if empty:
        raise DataError(f"{path}: has no rows; expected at least one row of {fewest} fields")


def _wrong_width(where: str, fields: list[str], expected: int, delimiter: str) -> DataError:
    mark = DELIMITER_NAMES.get(delimiter, delimiter)
    return DataError(
        f"{where}: {len(fields)} {mark}-separated field(s), expected {expected}; correct or delete "
        "the row (look for a stray separator or quote)"
    )


def _check_header(
    where: str, header: Sequence[str], required: Sequence[str], delimiter: str
) -> None:
    twice = [name for name in dict.fromkeys(required or header) if header.count(name) > 1]
    if twice:
        raise DataError(f"{where}: {_names(twice)}: more than one column; correct the header")
    missing = [name for name in required if name not in header]
    if not missing:
        return
    expected = DELIMITER_NAMES[delimiter]
    for other, name in DELIMITER_NAMES.items():
        fields = [field.strip('"') for field in delimiter.join(header).split(other)]
        if other != delimiter and set(required) <= set(fields):
            raise DataError(
                f"{where}: fields are separated by {name}, expected {expected}; "
                f"save the file {expected}-separated"
            )
    raise DataError(
        f"{where}: no column {_names(missing)}; found {_names(header)}, "
        f"expected {_names(required)}; correct the header"
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in columns)


# --- fields


# Python's float also reads 1_0, digits of every script, nan and infinity.
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def number(text: str | None) -> float | None:
    """Return the finite number that a field spells as a plain decimal (3, -0.5, 1e-3), or None."""
    spelled = (text or "").strip(string.whitespace)  # which float strips of ASCII, and no more
    value = float(spelled) if DECIMAL.fullmatch(spelled) else math.inf
    return value if math.isfinite(value) else None


def choice(where: str, text: str, labels: Sequence[str]) -> int:
    """Return which of the labels a field holds."""
    if text not in labels:
        expected = ", ".join(labels)
        raise DataError(f"{where}: label is {text[:40]!r}, expected one of {expected}; correct it")
    return labels.index(text)


def score(where: str, text: str, column: str = "score") -> float:
    """Return a similarity from 0 to 5; `column` is what a message calls it."""
    value = number(text)
    if value is None or not 0 <= value <= 5:
        raise DataError(
            f"{where}: {column} is {text[:40]!r}, expected a number from 0 to 5; correct the row"
        )
    return value
