"""Reads files of lines, fields and tables, compressed or not; errors name the file and the line.

`open_table` reads tables with any usual header, or none, and any usual separator.
`plain_fields` reads published sets, whose columns have fixed positions.
"""

import codecs
import csv
import hashlib
import json
import logging
import math
import os
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile
from pathlib import Path
from typing import IO, Any

from data.columns import (
    KNOWN,
    TEXT,
    Column,
    Contents,
    by_content,
    can_be_header,
    looks_like_header,
    match,
    plain,
)
from data.examples import DataError
from runtime.files import OPENERS, UNREADABLE, bounded_lines, open_file, why_unreadable

logger = logging.getLogger("data")

PathLike = str | os.PathLike[str]

# First bytes of files that are not tables of text.
NO_TEXT = {
    codecs.BOM_UTF16_LE: "text in UTF-16",
    codecs.BOM_UTF16_BE: "text in UTF-16",
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods) or another zip file",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls)",
    b"\x1f\x8b": "compressed by gzip, but its name does not end in .gz",
    b"\xfd7zXZ\0": "compressed by xz, but its name does not end in .xz",
    b"BZh91AY&SY": "compressed by bzip2, but its name does not end in .bz2",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard",
}
DELIMITER_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}


# --- files and their lines


def stored(path: Path) -> Path:
    """Return a file's path, or that of its compressed form if only this exists."""
    packed = (path.with_name(path.name + ending) for ending in OPENERS)
    return path if os.path.lexists(path) else next(filter(os.path.isfile, packed), path)


def plain_name(path: Path) -> str:
    """Return the name of a file without the ending of a compressed one."""
    return path.stem if path.suffix in OPENERS else path.name


def content_digest(path: Path) -> str:
    """Return the SHA-256 of a file's uncompressed content."""
    try:
        with open_file(stored(path)) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except UNREADABLE as error:
        raise DataError(why_unreadable(path, error)) from error


def numbered_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line with its line end), without a byte order mark.

    Lines end at a line feed only, so exotic Unicode separators inside a sentence do not cut it.
    Each line is decoded separately, so an error has a line number. A compressed file (.xz, .gz,
    .bz2) is decompressed, and is also found by its name without this extension.

    Raises:
        DataError: the file is missing, a directory, unreadable, or not in this encoding; a line
            is longer than `runtime.files.LONGEST`.
    """
    try:
        with open_file(stored(Path(path))) as file:
            yield from decoded_lines(file, path, encoding)
    except UNREADABLE as error:
        raise DataError(why_unreadable(path, error)) from error


def decoded_lines(
    file: IO[bytes], path: PathLike, encoding: str = "utf-8"
) -> Iterator[tuple[int, str]]:
    """Yield the lines of an open file as `numbered_lines` does; `path` is for messages."""
    for number, raw in enumerate(bounded_lines(file, path, DataError), start=1):
        if number == 1:
            for begin, name in NO_TEXT.items():
                if raw.startswith(begin):
                    raise DataError(f"{path}: {name}; save it as tab-separated text in UTF-8")
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


def plain_fields(
    path: PathLike, fewest: int, header: str | None = None, delimiter: str = "\t"
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields without white space around them) of rows without quoting.

    This is the format of published sets: quotation marks have no special meaning. Empty lines are
    skipped, surplus fields are kept.

    Args:
        path: as in `numbered_lines`.
        fewest: fields of a row.
        header: the first name in the line of column names, which some copies of the file lack.
        delimiter: between fields.

    Raises:
        DataError: as `numbered_lines`; a NUL byte, a row of fewer fields, no row at all.
    """
    empty = True
    for line, text in numbered_lines(path):
        if not text.rstrip("\r\n"):
            continue
        if "\0" in text:
            raise _nul(f"{path}:{line}")
        fields = [field.strip() for field in text.split(delimiter)]
        if len(fields) < fewest:
            raise _wrong_width(f"{path}:{line}", fields, fewest, delimiter)
        if line == 1 and fields[0] == header:
            continue
        empty = False
        yield line, fields
    if empty:
        raise DataError(f"{path}: has no rows; expected at least one row of {fewest} fields")


# --- tables by their content

SAMPLE = 100  # lines that are used to detect the header and the columns
DELIMITERS = ("\t", ",", ";", "|")
JSON = "json"
DO_NAME = "name the columns in the first line"


@dataclass
class Table:
    """An open table with the positions of its columns. Its rows can be read once.

    Attributes:
        path: of the file, for messages.
        header: the names in the first line, or the keys of JSON lines; None without a header.
        delimiter: a tab, a comma, a semicolon, a bar, "json", or "" if a line is a text.
        places: {name of a needed column: its position}; absent columns are left out.
    """

    path: PathLike
    header: tuple[str, ...] | None
    delimiter: str
    places: dict[str, int]
    width: int
    columns: Sequence[Column]
    _lines: Iterator[tuple[int, str]]
    _remedy: str = DO_NAME
    _quotes: bool = True

    def called(self, name: str) -> str:
        """Return a column's name in the header, or its number, for messages."""
        place = self.places[name]
        return repr(self.header[place]) if self.header else f"{place + 1}"

    @property
    def others(self) -> list[str]:
        """Return the names (or numbers) of the columns that are not needed."""
        names = self.header or [str(place + 1) for place in range(self.width)]
        return [name for at, name in enumerate(names) if at not in self.places.values()]

    def rows(self, ragged: bool = False) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield (line number, {column: text}) of each row, streaming; texts are not stripped.

        Args:
            ragged: accept rows of another width; missing columns are left out of the row.

        Raises:
            DataError: as `numbered_lines`; a row of another width, an open quote, no row at all;
                at the end, a text column that holds no texts.
        """
        texts = {c.name: Contents() for c in self.columns if c.kind == "text"}
        texts = {name: contents for name, contents in texts.items() if name in self.places}
        repeated: dict[str, tuple[int, int]] = {}  # repeated warnings: count, first line
        empty = True
        for line, text in self._lines:
            if not text.strip(" \r\n") and self.delimiter:
                continue
            for row in self._rows_of(line, text, ragged, repeated):
                for name, contents in texts.items():
                    contents.add(row.get(name, ""))
                empty = False
                yield line, row
        for problem, (count, first) in repeated.items():
            logger.warning("%s: %d row(s) (first: line %d): %s", self.path, count, first, problem)
        if empty:
            if self.header:
                raise _no_rows(self.path)
            raise DataError(f"{self.path}: is empty; expected one row per line")
        for name, contents in texts.items():
            if contents.fault and self.delimiter:
                raise DataError(
                    f"{self.path}: column {self.called(name)} holds {contents.fault}, expected "
                    f"texts ({name}); remove the column, or {self._remedy}"
                )

    def _rows_of(
        self, line: int, text: str, ragged: bool, repeated: dict[str, tuple[int, int]]
    ) -> list[dict[str, str]]:
        """Return the row of a line, or the rows of a JSON object whose lists hold several texts."""

        def note(problem: str) -> None:
            count, first = repeated.get(problem, (0, line))
            repeated[problem] = (count + 1, first)

        where = f"{self.path}:{line}"
        if "\0" in text:
            raise _nul(where)
        if not self.delimiter:
            return [dict.fromkeys(self.places, _unquoted(text) if self.header else text)]
        if self.delimiter == JSON:
            return self._json_rows(where, text, note)
        if self._quotes:
            fields = split_line(where, text, self.delimiter, self.width)
            is_whole = len(fields) == self.width
        else:  # published sets have surplus fields
            fields = text.rstrip("\r\n").split(self.delimiter)
            is_whole = len(fields) > max(self.places.values())
        if not (is_whole or ragged):
            raise _wrong_width(where, fields, self.width, self.delimiter)
        if any("\r" in value or self.delimiter in value for value in fields):
            if self.delimiter == "\t" or any("\r" in value for value in fields):
                note("a field in quotation marks holds a tab or a line end; it is read as one text")
        return [{name: fields[at] for name, at in self.places.items() if at < len(fields)}]

    def _json_rows(
        self, where: str, text: str, note: Callable[[str], None]
    ) -> list[dict[str, str]]:
        """Return the rows of a JSON object: one, or as many as its first list of several has."""
        values = _json_values(where, text)
        keys = {name: (self.header or ())[place] for name, place in self.places.items()}
        texts = {name: _json_texts(where, key, values.get(key)) for name, key in keys.items()}
        several = [c.name for c in self.columns if c.several and c.name in keys]
        for name, key in keys.items():
            if len(texts[name]) > 1 and name not in several:
                raise DataError(
                    f"{where}: {key!r} lists {len(texts[name])} texts, expected one; write a line "
                    "for each"
                )
        first = several[0] if several else next(iter(keys))
        count = len(texts[first])
        for name in several:
            if len(texts[name]) not in (1, count):
                note(
                    f"{keys[name]!r} and {keys[first]!r} list different numbers of texts; of "
                    f"{keys[name]!r} only the first is read"
                )
                texts[name] = texts[name][:1]
        return [
            {name: found[row if len(found) > 1 else 0] for name, found in texts.items()}
            for row in range(count)
        ]


def open_table(
    path: PathLike,
    columns: Sequence[Column],
    *,
    named: Sequence[str] = (),
    remedy: str = DO_NAME,
    lines: Iterator[tuple[int, str]] | None = None,
    quotes: bool = True,
) -> Table:
    """Open a table with any separator, and find its columns.

    Fields are separated by a tab, a comma, a semicolon or a bar, or lines are JSON objects; the
    header determines this. It is recognised by its names, in any case and order. Without a
    header, columns are detected by their content, if that is unambiguous.

    Args:
        path: as in `numbered_lines`.
        columns: the needed columns, texts in their order.
        named: the user's names (any case) or numbers (from 1) of the first of `columns`; they take
            precedence.
        remedy: how a user can specify the columns, for messages.
        lines: read instead of the file, which is then only named in messages.
        quotes: if false, quotation marks have no special meaning where tabs separate the fields,
            as in published sets.

    Raises:
        DataError: as `numbered_lines`; an empty file; a missing or ambiguous column.
    """
    lines = numbered_lines(path) if lines is None else lines
    sample, filled = _sample(path, lines)
    if not filled:
        raise DataError(f"{path}: is empty; expected a header line and rows")
    number, first = filled[0]
    where = f"{path}:{number}"
    every: Iterator[tuple[int, str]] = chain(sample, lines)
    if "\0" in first:
        raise _nul(where)
    _refuse_json_list(where, first)
    if first.lstrip().startswith("{"):
        header = _json_header(path, filled[:20])
        places = _numbered(len(header), columns, named)
        places = places or _places(where, header, columns, named, remedy)
        _refuse_twice(where, header, places)
        return Table(path, header, JSON, places, len(header), columns, every, remedy)
    header, mark, places, found = _best_header(first, columns, named)
    is_whole = all(c.name in places for c in columns if c.required)
    if not found or not (is_whole or named or can_be_header(header)):
        mark, rows = _sample_rows(filled)
        header = tuple(split_header(first, mark))
        found = looks_like_header(header, rows[1:])
        places = _numbered(len(header), columns, named)
        if not (places or named or found):
            if all(plain(name) in KNOWN for name in header):
                _refuse_twice(where, header, dict(zip(header, range(len(header)), strict=True)))
            return _without_header(path, filled, mark, columns, remedy, every)
    if not all(c.name in places for c in columns if c.required):
        _places(where, header, columns, named, remedy)  # raises
    _refuse_twice(where, header if found else (), places)
    quotes = quotes or mark != "\t"
    if found:
        if quotes:  # published sets have surplus fields
            _refuse_fewer_names(where, header, mark, filled[1:])
        below = dropwhile(lambda line: line[0] <= number, every)
        return Table(path, header, mark, places, len(header), columns, below, remedy, quotes)
    return Table(path, None, mark, places, len(header), columns, every, remedy, quotes)


def open_texts(
    path: PathLike,
    columns: Sequence[Column] = (Column("text", TEXT),),
    *,
    lines: Iterator[tuple[int, str]] | None = None,
    tabs: bool = False,
    hint: str = "",
) -> Table:
    """Open a file of texts: one per line, or a table with a column of texts.

    Each line is a text (`delimiter` is then ""; blank lines are rows, too), unless all lines are
    JSON objects, or a header names a text column and all rows have its width. A first line that
    consists only of such a name is a header.

    Args:
        path, columns, lines: as of `open_table`.
        tabs: allow lines without a header that all have the same number of tabs.
        hint: end of the message about such lines.

    Raises:
        DataError: as `open_table`; every line has the same number of tabs, and no header.
    """
    lines = numbered_lines(path) if lines is None else lines
    sample, filled = _sample(path, lines)
    if not filled:
        raise DataError(f"{path}: is empty; expected one sentence per line")
    number, first = filled[0]
    where = f"{path}:{number}"
    every: Iterator[tuple[int, str]] = chain(sample, lines)
    _refuse_json_list(where, first)
    texts = [column for column in columns if column.kind == "text"]
    if _is_object(first):
        return open_table(path, columns, lines=every)
    header, mark, places, _ = _best_header(first, columns, ())
    if len(filled) == 1 and "\t" in first and KNOWN.issuperset(map(plain, first.split("\t"))):
        raise _no_rows(path)
    if all(column.name in places for column in texts) and len(filled) > 1:
        rows = [split_header(text, mark, len(header)) for _, text in filled]
        as_wide = [len(row) == len(header) for row in rows]
        # Otherwise the first line may be a text that begins like a header: "Text, please."
        if len(header) > 1 and (all(as_wide) or KNOWN.issuperset(map(plain, header))):
            return open_table(path, columns, lines=every)
        if len(header) == 1:
            logger.warning("%s: %r is the header, not a text", where, first)
            below = dropwhile(lambda line: line[0] <= number, every)
            return Table(path, header, "", places, 1, columns, below)
    widths = {text.count("\t") + 1 for _, text in filled}
    if len(filled) > 1 and len(widths) == 1 and widths != {1} and not tabs:
        raise DataError(
            f"{where}: every line has {widths.pop()} tab-separated fields, expected one text per "
            f"line, or a header with a column {' and '.join(c.name for c in texts)}{hint}"
        )
    return Table(path, None, "", {column.name: 0 for column in texts}, 1, columns, every)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _sample(
    path: PathLike, lines: Iterator[tuple[int, str]]
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the first lines unchanged, and those that are not blank without line ends."""
    sample, filled = [], []
    for number, text in lines:
        sample.append((number, text))
        if text.strip():
            filled.append((number, text.rstrip("\r\n")))
        if len(filled) == SAMPLE:
            break
    if len(filled) == 1 and "\r" in filled[0][1]:
        raise DataError(f"{path}: lines end with bare carriage returns; save it with line feeds")
    return sample, filled


def _best_header(
    first: str, columns: Sequence[Column], named: Sequence[str]
) -> tuple[tuple[str, ...], str, dict[str, int], bool]:
    """Return the names in a first line, delimiter, positions, and whether any name is known."""
    best: tuple[tuple[str, ...], str, dict[str, int], bool] = ((), "\t", {}, False)
    most = 0
    for mark in DELIMITERS:
        header = tuple(name.strip() for name in split_header(first, mark))
        places, doubts = _matched(header, columns, named)
        if len(places) + len(doubts) > most:
            most = len(places) + len(doubts)
            best = (header, mark, places, True)
    return best


def _numbered(width: int, columns: Sequence[Column], named: Sequence[str]) -> dict[str, int]:
    """Return the positions of columns that the user gave as numbers from 1."""
    if not all(name.isdecimal() and 0 < int(name) <= width for name in named):
        return {}
    return {c.name: int(name) - 1 for c, name in zip(columns, named, strict=False)}


def _without_header(
    path: PathLike,
    filled: Sequence[tuple[int, str]],
    mark: str,
    columns: Sequence[Column],
    remedy: str,
    lines: Iterator[tuple[int, str]],
) -> Table:
    """Return a table without a header; its columns are detected by their content."""
    width = len(split_header(filled[0][1], mark))
    rows = [split_header(text, mark, width) for _, text in filled]
    places = by_content(columns, [row for row in rows if len(row) == width]) or {}
    required = [c.name for c in columns if c.required]
    if width < len(required):
        raise _wrong_width(f"{path}:{filled[0][0]}", rows[0], len(required), mark)
    if not all(name in places for name in required):
        raise DataError(
            f"{path}:{filled[0][0]}: {width} {DELIMITER_NAMES[mark]}-separated field(s) "
            f"without a known header; no column is known as {_names(required)}; {remedy}"
        )
    return Table(path, None, mark, places, width, columns, lines, remedy)


def _sample_rows(filled: Sequence[tuple[int, str]]) -> tuple[str, list[list[str]]]:
    """Return the delimiter that gives most lines the width of the first, and the rows."""
    best: tuple[float, str, list[list[str]]] = (-1.0, "\t", [])
    for mark in DELIMITERS:
        width = len(split_header(filled[0][1], mark))
        rows = [split_header(text, mark, width) for _, text in filled]
        share = sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0
        if share > best[0]:
            best = (share, mark, rows)
    return best[1:]


def _matched(
    header: Sequence[str], columns: Sequence[Column], named: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """Return the result of `match`; names given by the user take precedence."""
    names = [plain(name) for name in header]
    given: dict[str, int] = {}
    for column, name in zip(columns, named, strict=False):
        if plain(name) in names:
            given[column.name] = names.index(plain(name))
        elif name.isdecimal() and 0 < int(name) <= len(names):
            given[column.name] = int(name) - 1
        else:
            return {}, []
    if named and all(map(str.isdecimal, named)):
        return {}, []  # a header is detected later
    rest = [column for column in columns if column.name not in given]
    matched, doubts = match(header, rest)
    free = {name: at for name, at in matched.items() if at not in given.values()}
    return given | free, doubts


def _places(
    where: str,
    header: Sequence[str],
    columns: Sequence[Column],
    named: Sequence[str],
    remedy: str,
) -> dict[str, int]:
    places, doubts = _matched(header, columns, named)
    missing = [c.name for c in columns if c.required and c.name not in places]
    if missing:
        if doubts:
            raise DataError(f"{where}: {_names(doubts)} could all be {_names(missing)}; {remedy}")
        known = [plain(name) for name in header]
        wanted = [name for name in named if plain(name) not in known] or missing
        if named and all(map(str.isdecimal, named)):
            absent = next(n for n in named if not 0 < int(n) <= len(header))
            raise DataError(
                f"{where}: column {absent}: there are {len(header)}, counted from 1: "
                f"{_names(header)}"
            )
        raise DataError(f"{where}: no column {_names(wanted)}; found {_names(header)}; {remedy}")
    return places


def _refuse_twice(where: str, header: Sequence[str], places: dict[str, int]) -> None:
    """Refuse a name of two columns, and a column that the user names twice."""
    names = [plain(name) for name in header]
    used = list(places.values()) if header else []
    twice = [header[at] for at in used if names[at] and names.count(names[at]) > 1]
    if twice:
        raise DataError(f"{where}: {_names(twice)}: more than one column; correct the header")
    if len(set(places.values())) < len(places):
        raise DataError(
            f"{where}: one column is named as {_names(list(places))}; name each column once"
        )


def _refuse_fewer_names(
    where: str, header: Sequence[str], mark: str, below: Sequence[tuple[int, str]]
) -> None:
    """Refuse a header with fewer names than all rows below have fields, which would be shifted.

    R leaves out the name of the first column. Quotation marks are not looked at here.
    """
    widths = {text.rstrip(mark).count(mark) + 1 for _, text in below if '"' not in text}
    if len(below) > 1 and len(widths) == 1 and min(widths) > len(header):
        raise DataError(
            f"{where}: {len(header)} names, but the rows below have {widths.pop()} "
            f"{DELIMITER_NAMES[mark]}-separated fields; give each column a name"
        )


def _no_rows(path: PathLike) -> DataError:
    return DataError(f"{path}: has a header but no rows; expected at least one row")


def _nul(where: str) -> DataError:
    return DataError(
        f"{where}: holds a NUL byte, so it is not plain text; "
        "download or export the file again as UTF-8 text"
    )


# --- lines cut into fields


def split_line(where: str, text: str, delimiter: str, width: int) -> list[str]:
    """Return the fields of a line that belongs to a table of `width` columns.

    The csv module's rules for quotation marks are used if they give this width. If a quote does not
    close on its line, or if only splitting at every delimiter gives this width, quotation marks
    have no special meaning. Only tab-separated lines may have an unclosed quote.
    """
    text = text.rstrip("\r\n")
    plain_fields = text.split(delimiter)
    if max(map(len, plain_fields)) > csv.field_size_limit():
        raise DataError(f"{where}: a field of over {csv.field_size_limit():,} characters; cut it")
    if '"' not in text and "\r" not in text:
        return plain_fields
    try:
        fields = _quoted_fields(where, text, delimiter)
    except DataError:
        if len(plain_fields) != width or delimiter != "\t" or "\r" in text:
            raise
        return plain_fields
    return plain_fields if len(fields) != width == len(plain_fields) else fields


def split_header(text: str, delimiter: str, width: int = 0) -> list[str]:
    """Return the fields of a line as `split_line` does, without an error."""
    try:
        return split_line("", text, delimiter, width)
    except DataError:
        return text.split(delimiter)


def _quoted_fields(where: str, text: str, delimiter: str) -> list[str]:
    # Inside an open quote the csv module requests the next line.
    reader = csv.reader([text, ""], delimiter=delimiter)
    try:
        fields = next(reader)
    except csv.Error as error:
        raise DataError(f"{where}: {error}; look for an unbalanced quote in this row") from error
    if reader.line_num > 1:
        raise DataError(
            f"{where}: a quotation mark opens a field that does not end on this line; close or "
            "delete the quote, and keep each row on one line"
        )
    return fields


def _unquoted(text: str) -> str:
    """Return a line below the header of the only column without the quotes that csv writes."""
    stripped = text.strip()
    if len(stripped) > 1 and stripped[0] == stripped[-1] == '"':
        inside = stripped[1:-1].replace('""', "")
        return stripped[1:-1].replace('""', '"') if '"' not in inside else text
    return text


# --- JSON lines


def _refuse_json_list(where: str, first: str) -> None:
    begin = first.lstrip()[:2]
    if begin in ("[", "{") or begin.startswith(("[{", "[[", '["')):
        raise _no_json_lines(where)


def _no_json_lines(where: str) -> DataError:
    return DataError(
        f"{where}: JSON that is not one object per line; write JSON lines, for example by "
        "pandas' to_json(lines=True, orient='records')"
    )


def _is_nested(value: Any) -> bool:
    """Return whether a value holds rows or columns, as in an object that is a whole table."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict | list)
    )


def _json_header(path: PathLike, lines: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Return the keys of the objects in some lines; refuse one object that is a whole table."""
    objects = [_json_values(f"{path}:{line}", text) for line, text in lines]
    if len(objects) == 1 and any(map(_is_nested, objects[0].values())):
        raise _no_json_lines(f"{path}:{lines[0][0]}")
    return tuple(dict.fromkeys(chain(*objects)))


def _json_values(where: str, text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: is not JSON ({error}); correct the line") from None
    if not isinstance(values, dict):
        raise DataError(f"{where}: is no JSON object; expected one row per line")
    return values


def _json_texts(where: str, key: str, value: Any) -> list[str]:
    """Return the texts of a value, "" for none: a text, a number, a truth value, a list of them."""
    values = value if isinstance(value, list) and value else [value]
    return [_json_text(where, key, None if part == [] else part) for part in values]


def _json_text(where: str, key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise DataError(f"{where}: {key!r} holds no text or number; write one text per key")


def _wrong_width(where: str, fields: list[str], expected: int, delimiter: str) -> DataError:
    mark = DELIMITER_NAMES.get(delimiter, delimiter)
    return DataError(
        f"{where}: {len(fields)} {mark}-separated field(s), expected {expected}; correct or delete "
        "the row (look for a stray separator or quote)"
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in columns)


# --- fields


def counted(lines: Sequence[int], what: str) -> str:
    """Return the number of faulty rows and the first line: `2 row(s) ... (first: line 7)`."""
    return f"{len(lines)} row(s) {what} (first: line {lines[0]})"


DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
# Python's float also accepts 1_0, digits of every script, nan and infinity.
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def number(text: str | None) -> float | None:
    """Return a plain decimal (3, -0.5, 1e-3) as a finite number, or None."""
    spelled = (text or "").strip(string.whitespace)  # the ASCII white space that float strips
    value = float(spelled) if DECIMAL.fullmatch(spelled) else math.inf
    return value if math.isfinite(value) else None


def choice(where: str, text: str, labels: Sequence[str]) -> int:
    """Return the index in `labels` of the label in a field, in any case."""
    places = {label.casefold(): at for at, label in enumerate(labels)}
    if text.casefold() not in places:
        expected = ", ".join(labels)
        raise DataError(f"{where}: label is {text[:40]!r}, expected one of {expected}; correct it")
    return places[text.casefold()]


def score(where: str, text: str, column: str = "score") -> float:
    """Return a similarity from 0 to 5; `column` is its name in messages."""
    value = number(text)
    if value is None or not 0 <= value <= 5:
        raise DataError(
            f"{where}: {column} is {text[:40]!r}, expected a number from 0 to 5; correct the row"
        )
    return value
