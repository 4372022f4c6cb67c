"""Reads files of lines, fields and tables, compressed or not; errors name the file and the line.

Two kinds of table. `read_table` follows csv's rules for quotes, as the course's own code does;
`plain_lines`, `plain_fields` and `plain_table` take a quotation mark as a character like any other,
as the evaluation suites are written: csv's rules would join their rows.
"""

import codecs
import csv
import hashlib
import math
import os
import re
import string
from collections.abc import Iterator, Sequence
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
    """Return the SHA-256 of what a file holds, the same whether it is compressed or not.

    Raises:
        DataError: it cannot be read.
    """
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
    """Yield the lines of an open file as `numbered_lines` does; `path` is for messages.

    Raises:
        DataError: a line is not in this encoding, or too long.
    """
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


# --- tables by csv's rules


def read_table(
    path: PathLike, required_columns: Sequence[str], delimiter: str, ragged: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number on which the row begins, row as {column: text}), streaming.

    Args:
        path: a UTF-8 file whose first line names the columns; CRLF and a BOM are tolerated.
        required_columns: names the header must hold; other columns are allowed.
        delimiter: one character.
        ragged: let rows of another width through, as csv.DictReader gives them: missing fields
            are None, surplus ones a list under the key None.

    Raises:
        DataError: unreadable, empty or not UTF-8; a NUL byte; a missing column, or two of one
            name; no row; a row with too few or too many fields (unless `ragged`); a field beyond
            csv's limit.
    """
    reader = csv.DictReader(_table_lines(path), delimiter=delimiter)
    last_line = 0  # where the previous record ended: a record may span lines inside quotes
    try:
        _check_header(path, reader.fieldnames, required_columns, delimiter)
        last_line = header_end = reader.line_num
        for row in reader:
            last_line = reader.line_num
            fields = [value for value in row.values() if isinstance(value, str)]
            inner_line_ends = sum(text.count("\n") for text in fields + list(row.get(None, ())))
            line = last_line - inner_line_ends
            if not ragged:
                _check_width(f"{path}:{line}", row, delimiter)
            yield line, row
    except csv.Error as error:
        raise DataError(
            f"{path}:{last_line + 1}: {error}; look for an unbalanced quote in this row"
        ) from error
    if last_line == header_end:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")


def read_header(path: PathLike, delimiter: str) -> list[str]:
    """Return the column names in the first line of a table.

    Raises:
        DataError: the file is unreadable, empty, not UTF-8, or its first line is not a row.
    """
    try:
        for fields in csv.reader(_table_lines(path), delimiter=delimiter):
            return fields
    except csv.Error as error:
        raise DataError(f"{path}:1: {error}; correct the header") from error
    raise DataError(f"{path}: is empty; expected a header line and rows")


def _table_lines(path: PathLike) -> Iterator[str]:
    for number, line in numbered_lines(path):
        if "\0" in line:
            raise DataError(
                f"{path}:{number}: holds a NUL byte, so it is not plain text; "
                "download or export the file again as UTF-8 text"
            )
        yield line


def _check_header(
    path: PathLike, header: Sequence[str] | None, required: Sequence[str], delimiter: str
) -> None:
    if header is None:
        raise DataError(f"{path}: is empty; expected a header line and rows")
    twice = [name for name in dict.fromkeys(required or header) if header.count(name) > 1]
    if twice:
        raise DataError(f"{path}:1: {_names(twice)}: more than one column; correct the header")
    missing = [name for name in required if name not in header]
    if not missing:
        return
    for other, name in DELIMITER_NAMES.items():
        fields = next(csv.reader([delimiter.join(header)], delimiter=other))
        if other != delimiter and set(required) <= set(fields):
            raise DataError(
                f"{path}:1: fields are separated by {name}, expected {DELIMITER_NAMES[delimiter]}; "
                f"save the file {DELIMITER_NAMES[delimiter]}-separated"
            )
    raise DataError(
        f"{path}:1: no column {_names(missing)}; found {_names(header)}, "
        f"expected {_names(required)}; correct the header"
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in columns)


def _check_width(where: str, row: dict[Any, Any], delimiter: str) -> None:
    surplus = len(row.get(None, ()))
    expected = len(row) - (None in row)
    found = expected + surplus - sum(value is None for value in row.values())
    if found != expected:
        raise DataError(
            f"{where}: {found} {DELIMITER_NAMES[delimiter]}-separated fields, expected {expected}; "
            "correct or delete the row (look for a stray separator or quote)"
        )


# --- lines and tables without quoting


def plain_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of the lines that are not blank, as `stripped_lines` reads them."""
    return ((number, text) for number, text in stripped_lines(path) if text)


def stripped_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yield (line number, text without the white space around it) of all lines, blank ones too.

    Some published sets are in Latin-1, and copies of them in UTF-8: a file that is not UTF-8 as a
    whole is read as Latin-1.

    Raises:
        DataError: the file is unreadable, holds no text, or a line that is too long.
    """
    encoding = "utf-8"
    try:
        with open_file(stored(Path(path))) as file:
            for line in bounded_lines(file, path, DataError):
                line.decode("utf-8")
    except UnicodeDecodeError:
        encoding = "latin-1"
    except UNREADABLE:
        pass  # numbered_lines says what is wrong
    empty = True
    for number, text in numbered_lines(path, encoding):
        text = text.strip()
        empty = empty and not text
        yield number, text
    if empty:
        raise DataError(f"{path}: is empty; expected one text per line")


def plain_fields(path: PathLike, fewest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, stripped tab-separated fields) of each line; surplus fields are kept.

    Raises:
        DataError: the file is unreadable, empty or not UTF-8; a line has fewer fields.
    """
    empty = True
    for line, text in numbered_lines(path):
        empty = False
        fields = [field.strip() for field in text.rstrip("\r\n").split("\t")]
        if len(fields) < fewest:
            raise DataError(
                f"{path}:{line}: {len(fields)} tab-separated field(s), expected {fewest}; "
                "correct or delete the row"
            )
        yield line, fields
    if empty:
        raise DataError(f"{path}: is empty; expected {fewest} tab-separated fields a line")


def plain_table(path: PathLike, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, the fields of `columns`) below a header line, which names the columns.

    Raises:
        DataError: the file is unreadable, empty or not UTF-8; a missing column; no row; a row
            that ends before one of the columns.
    """
    rows = plain_fields(path, 1)
    _, header = next(rows)
    missing = [name for name in columns if name not in header]
    if missing:
        raise DataError(
            f"{path}:1: no column {_names(missing)}; expected tab-separated columns with "
            f"{_names(columns)}; correct the header"
        )
    places = [header.index(name) for name in columns]
    line = 1
    for line, fields in rows:
        if len(fields) <= max(places):
            raise DataError(
                f"{path}:{line}: {len(fields)} tab-separated field(s), expected "
                f"{max(places) + 1} or more; correct or delete the row"
            )
        yield line, [fields[place] for place in places]
    if line == 1:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")


# --- fields


# Python's float also reads 1_0, digits of every script, nan and infinity.
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def number(text: str | None) -> float | None:
    """Return the finite number that a field spells as a plain decimal (3, -0.5, 1e-3), or None."""
    spelled = (text or "").strip(string.whitespace)  # which float strips of ASCII, and no more
    value = float(spelled) if DECIMAL.fullmatch(spelled) else math.inf
    return value if math.isfinite(value) else None


def choice(where: str, text: str, labels: Sequence[str]) -> int:
    """Return which of the labels a field holds.

    Raises:
        DataError: it is none of them.
    """
    if text not in labels:
        expected = ", ".join(labels)
        raise DataError(f"{where}: label is {text[:40]!r}, expected one of {expected}; correct it")
    return labels.index(text)


def score(where: str, text: str, column: str = "score") -> float:
    """Return a similarity from 0 to 5; `column` is what a message calls it.

    Raises:
        DataError: the field holds no such number.
    """
    value = number(text)
    if value is None or not 0 <= value <= 5:
        raise DataError(
            f"{where}: {column} is {text[:40]!r}, expected a number from 0 to 5; correct the row"
        )
    return value
