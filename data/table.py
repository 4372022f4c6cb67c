"""Tables and files of texts, compressed or not; errors name the file and the line.

The rule of tables: the first line is a header of known names, in any case and order, or the user
names the columns (`--columns`), by name or, without a header, by number. Anything else is refused
with the names of the first line. Fields are separated by tabs, commas or semicolons, or each line
is a JSON object with one text or number per key.

`open_table` reads tables, `open_texts` files with a text per line, and `plain_fields` published
sets, whose columns have fixed positions.
"""

import ast
import codecs
import csv
import hashlib
import json
import logging
import math
import os
import re
import shlex
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile
from pathlib import Path
from typing import IO, Any

from data.examples import DataError
from runtime.files import OPENERS, UNREADABLE, bounded_lines, open_file, why_unreadable
from runtime.streams import SURROGATE

logger = logging.getLogger("data")

PathLike = str | os.PathLike[str]

# --- known names

# Names of two text columns in common data sets.
PAIRS = (
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
    ("sent0", "sent1"),
    ("sent1", "sent2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("question1", "question2"),
    ("string1", "string2"),
    ("1_string", "2_string"),
    ("phrase1", "phrase2"),
    ("s1", "s2"),
    ("q1", "q2"),
    ("a", "b"),
    ("premise", "hypothesis"),
    ("context", "hypothesis"),
    ("anchor", "positive"),
    ("anchor", "pos"),
    ("anchor", "entailment"),
    ("premise", "entailment"),
    ("query", "positive"),
    ("query", "pos"),
    ("query", "document"),
    ("query", "passage"),
    ("query", "answer"),
    ("question", "answer"),
    ("source", "target"),
)
FIRST = tuple(dict.fromkeys(first for first, _ in PAIRS))
SECOND = tuple(dict.fromkeys(second for _, second in PAIRS))
NEGATIVE = ("negative", "neg", "hard_neg", "hard_negative", "contradiction", "sent2", "c")
TEXT = ("sentence", "text", "review", "phrase", "content", "comment", "tweet", "utterance", "body")
# Names of the only column of texts; a word such as "answer" may be a text.
ONLY_TEXT = (*TEXT, *(n for n in dict.fromkeys((*FIRST, *SECOND)) if re.search(r"\w[\d_]", n)))
LABEL = (
    "label",
    "labels",
    "is_duplicate",
    "is_paraphrase",
    "duplicate",
    "paraphrase",
    "similarity",
    "similarity_score",
    "score",
    "relatedness_score",
    "relatedness",
    "gold_label",
    "gold",
    "sentiment",
    "rating",
    "stars",
    "class",
    "category",
    "target",
    "quality",
    "relevance",
    "relevant",
)
ID = (
    "id",
    "_id",
    "pair_id",
    "idx",
    "index",
    "guid",
    "uid",
    "qid",
    "sentence_id",
    "row_id",
    "unnamed: 0",
)


@dataclass(frozen=True)
class Column:
    """A column that a reader needs.

    Attributes:
        name: its name in the rows.
        also: other names of it in headers.
        required: whether a table without it is refused.
        kind: "text", "label", "id", or "other".
    """

    name: str
    also: tuple[str, ...] = ()
    required: bool = True
    kind: str = "text"

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names as `plain` writes them, the column's name first."""
        return tuple(dict.fromkeys(map(plain, (self.name, *self.also))))


def pair_columns(first: str = "sentence1", second: str = "sentence2") -> tuple[Column, Column]:
    """Return the columns of two texts, with all usual names."""
    return Column(first, FIRST), Column(second, SECOND)


def plain(name: str) -> str:
    """Return a column's name without case, blanks, quotation marks and other marks."""
    return re.sub(r"[\W_]+", "", name.casefold())


KNOWN = {plain(name) for name in chain(FIRST, SECOND, NEGATIVE, TEXT, LABEL, ID)}

CONTROL = re.compile(r"[\0-\x08\x0e-\x1f]")
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
                if raw.startswith(begin) and not _is_text(raw):
                    raise DataError(f"{path}: {name}; save it as tab-separated text in UTF-8")
            raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            yield number, raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}:{number}: byte 0x{raw[error.start]:02x} is not valid UTF-8; "
                "save the file as UTF-8 text"
            ) from error


def _is_text(raw: bytes) -> bool:
    """Return whether bytes are UTF-8 without control characters: `PAR1 is a receptor.`"""
    try:
        return not CONTROL.search(raw.decode())
    except UnicodeDecodeError:
        return False


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
        raise DataError(f"{path}: is empty; expected one text per line")


def _encoding(path: PathLike) -> str:
    try:
        for _ in numbered_lines(path):
            pass
    except DataError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            return "latin-1"
    return "utf-8"


# --- published sets


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


# --- tables

SAMPLE = 100  # lines that decide the separator
MOST_UNEVEN = 0.01  # share of rows of another width that are left out
SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon"}
JSON = "json"


@dataclass
class Table:
    """An open table with the positions of its columns. Its rows can be read once.

    Attributes:
        path: of the file, for messages.
        header: the names in the first line, or the keys of JSON lines; () without a header.
        delimiter: a tab, a comma, a semicolon, "json", or "" if a line is a text.
        places: {name of a needed column: its position}; absent columns are left out.
        width: fields of a row.
    """

    path: PathLike
    header: tuple[str, ...]
    delimiter: str
    places: dict[str, int]
    width: int
    _lines: Iterator[tuple[int, str]]
    _quotes: bool = True
    _bytes: frozenset[str] = frozenset()  # columns of texts written as Python's bytes

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

        Rows of another width are left out, with a warning, if they are few.

        Args:
            ragged: accept rows of another width; missing columns are left out of the row.

        Raises:
            DataError: as `numbered_lines`; too many rows of another width, at the end; an open
                quote, no row at all.
        """
        count = 0
        quoted: list[int] = []  # lines with a separator inside quotes
        uneven: list[tuple[int, int]] = []  # lines of another width, and their fields
        headers: list[int] = []  # lines that repeat the header, where files were joined
        for line, text in self._filled():
            count += 1
            where = f"{self.path}:{line}"
            if self.delimiter in ("", JSON):
                yield line, self._json(where, text) if self.delimiter else self._one_column(text)
                continue
            fields = self._fields(where, text)
            if not (ragged or self._is_whole(fields)):
                uneven.append((line, len(fields)))
                continue
            if self.header and tuple(map(str.strip, fields)) == self.header:
                headers.append(line)
                count -= 1
                continue
            if any("\r" in field or "\t" in field for field in fields):
                quoted.append(line)
            row = {n: fields[at] for n, at in self.places.items() if at < len(fields)}
            yield line, row | {n: _of_bytes(where, row[n]) for n in self._bytes & row.keys()}
        if quoted:
            told = counted(quoted, "with a tab or a line end inside quotation marks")
            logger.warning("%s: %s; it is read as part of the text", self.path, told)
        if headers:
            repeated = counted(headers, "that repeat the header")
            logger.warning("%s: %s; left out", self.path, repeated)
        if uneven:
            self._leave_out(uneven, count)
        if not count:
            raise _no_rows(self.path) if self.header else _empty(self.path)

    def _filled(self) -> Iterator[tuple[int, str]]:
        """Yield the lines of rows: of a table those that are not blank."""
        for line, text in self._lines:
            if "\0" in text:
                raise _nul(f"{self.path}:{line}")
            if text.strip(" \r\n") or not self.delimiter:
                yield line, text

    def _one_column(self, text: str) -> dict[str, str]:
        return dict.fromkeys(self.places, _unquoted(text) if self.header else text)

    def _json(self, where: str, text: str) -> dict[str, str]:
        values = json_values(where, text)
        keys = {name: self.header[place] for name, place in self.places.items()}
        return {name: _json_text(where, key, values.get(key)) for name, key in keys.items()}

    def _fields(self, where: str, text: str) -> list[str]:
        if self._quotes:
            return split_line(where, text, self.delimiter, self.width)
        return text.rstrip("\r\n").split(self.delimiter)

    def _is_whole(self, fields: list[str]) -> bool:
        # Published sets, and tables without a header, have surplus fields.
        if self._quotes and self.header:
            return len(fields) == self.width
        return len(fields) > max(self.places.values())

    def _leave_out(self, uneven: list[tuple[int, int]], count: int) -> None:
        """Warn of rows of another width if they are few, else refuse the table."""
        lines = [line for line, _ in uneven]
        mark = SEPARATORS[self.delimiter]
        if len(uneven) <= MOST_UNEVEN * count:
            few = counted(lines, f"without {self.width} {mark}-separated fields")
            logger.warning("%s: %s; left out", self.path, few)
            return
        like_it = f"{len(uneven)} of {count} rows have another width (lines {str(lines[:3])[1:-1]})"
        raise DataError(
            f"{self.path}:{lines[0]}: {uneven[0][1]} {mark}-separated field(s), expected "
            f"{self.width}; {like_it}; look for a stray separator or quote in them"
        )


def open_table(
    path: PathLike,
    columns: Sequence[Column],
    *,
    named: Sequence[str] = (),
    flag: str = "",
    quotes: bool = True,
) -> Table:
    """Open a table, and find its columns by the rule of tables (above).

    Args:
        path: as in `numbered_lines`.
        columns: the needed columns, texts in their order.
        named: the user's names (any case) or numbers (from 1) of the first of `columns`. Numbers
            are for files without a header; if the first line has a known name there, it is one.
        flag: with which the user can name the columns, "" without one; for messages.
        quotes: if false, quotation marks have no special meaning where tabs separate the fields,
            as in published sets.

    Raises:
        DataError: as `numbered_lines`; an empty file; a missing or ambiguous column.
    """
    return _table(path, columns, _sampled(path), named, flag, quotes)


def _table(
    path: PathLike,
    columns: Sequence[Column],
    sampled: "_Sampled",
    named: Sequence[str] = (),
    flag: str = "",
    quotes: bool = True,
) -> Table:
    """Open a table whose first lines were read, by the rule of `open_table`."""
    number, first = sampled.filled[0]
    where = f"{path}:{number}"
    if first.lstrip().startswith("{"):
        mark, header = JSON, _json_header(path, sampled.filled[:20])
    else:
        mark, header = _first_line(sampled.filled, columns, named)
    is_header = True
    places, doubts = find_columns(header, columns, named)
    if named and not places:
        places = _numbered(where, header, columns, named, flag)
        is_header = mark == JSON or any(plain(header[at]) in KNOWN for at in places.values())
        if is_header:
            others, _ = find_columns(header, columns[len(named) :])
            places |= {name: at for name, at in others.items() if at not in places.values()}
    _refuse_twice(where, header if is_header else (), places)
    if any(column.required and column.name not in places for column in columns):
        sample = [] if mark == JSON else [split_header(text, mark) for _, text in sampled.filled]
        raise _unknown(where, header, sample, columns, places, doubts, flag)
    rows = sampled.every()
    if is_header and mark != JSON:
        rows = dropwhile(lambda line: line[0] <= number, rows)
    names = header if is_header else ()
    table = Table(path, names, mark, places, len(header), rows, quotes or mark != "\t")
    if mark != JSON:
        below = [split_header(text, mark, len(header)) for _, text in sampled.filled[is_header:]]
        table._bytes = frozenset(
            column.name
            for column in columns
            if column.kind == "text" and _all_bytes(below, places.get(column.name))
        )
    if table._bytes:
        logger.warning("%s: texts are written as b'...'; they are decoded", path)
    return table


BYTES = re.compile(r"""b(['"]).*\1""", re.DOTALL)


def _all_bytes(rows: Sequence[Sequence[str]], place: int | None) -> bool:
    """Return whether a column of rows holds what Python prints of bytes, as PAWS-QQP's does."""
    if place is None or not rows:
        return False
    return all(len(row) > place and BYTES.fullmatch(row[place].strip()) for row in rows)


def _of_bytes(where: str, text: str) -> str:
    try:
        value = ast.literal_eval(text.strip())
        return value.decode() if isinstance(value, bytes) else text
    except (ValueError, SyntaxError) as error:
        raise DataError(
            f"{where}: {text[:40]!r} is no text written as bytes ({error}); correct the row"
        ) from None


def find_columns(
    header: Sequence[str], columns: Sequence[Column], named: Sequence[str] = ()
) -> tuple[dict[str, int], list[str]]:
    """Return {column: its position} in a header, and names of which several could be one column.

    Two texts are known by names that belong together; a column's main name goes before others.
    With `named`, the first columns have these names, or none is found.
    """
    names = [plain(name) for name in header]
    # A number is a place, also where the first line has a label 2, unless all names are numbers.
    are_places = bool(named) and all(map(str.isdecimal, named))
    if are_places and not all(map(str.isdecimal, names)):
        return {}, []
    if not set(map(plain, named)) <= set(names):
        return {}, []
    at = {c.name: names.index(plain(name)) for c, name in zip(columns, named, strict=False)}
    rest = columns[len(named) :]
    doubts: list[str] = []
    texts = [column for column in rest if column.kind == "text"][:2]
    if len(texts) == 2:
        main = texts[0].names[0], texts[1].names[0]
        usual = [(plain(a), plain(b)) for a, b in PAIRS]
        known = [both for both in (main, *usual) if set(both) <= set(names)]
        # sent0, sent1, sent2 are a triplet; text_a, text_b, question1, question2 are in doubt.
        others = [both for both in known[1:] if set(both).isdisjoint(known[0])]
        if others and known[0] != main:
            doubts += [header[names.index(name)] for name in (*known[0], *others[0])]
        elif known:
            at |= {c.name: names.index(name) for c, name in zip(texts, known[0], strict=True)}
        rest = [column for column in rest if column not in texts]
    for column in rest:
        free = [n for n in column.names if n in names and names.index(n) not in at.values()]
        if len(free) > 1 and free[0] != column.names[0] and column.kind in ("text", "label"):
            doubts += [header[names.index(name)] for name in free]
        elif free:
            at[column.name] = names.index(free[0])
    return at, doubts


def _first_line(
    filled: Sequence[tuple[int, str]], columns: Sequence[Column], named: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Return the separator and the fields of the first line.

    The separator is the one that gives most known columns, then most lines of the same width.
    """

    def known_and_regular(mark: str) -> tuple[int, float]:
        header = split_header(filled[0][1], mark)
        places, doubts = find_columns(header, columns, named)
        alike = sum(len(split_header(text, mark, len(header))) == len(header) for _, text in filled)
        return len(places) + len(doubts), alike / len(filled) if len(header) > 1 else 0.0

    mark = max(SEPARATORS, key=known_and_regular)
    return mark, tuple(name.strip() for name in split_header(filled[0][1], mark))


def _numbered(
    where: str, header: Sequence[str], columns: Sequence[Column], named: Sequence[str], flag: str
) -> dict[str, int]:
    """Return the positions of columns that the user gave as numbers from 1.

    Raises:
        DataError: a name, which is then not in the first line, or too large a number.
    """
    for name in named:
        if not name.isdecimal():
            known = [plain(field) for field in header]
            absent = [name for name in named if plain(name) not in known]
            remedy = f"; name one with {flag}" if flag else ""
            raise DataError(f"{where}: no column {_names(absent)}; found {_names(header)}{remedy}")
        if not 0 < int(name) <= len(header):
            raise DataError(
                f"{where}: column {name}: there are {len(header)}, counted from 1: {_names(header)}"
            )
    return {c.name: int(name) - 1 for c, name in zip(columns, named, strict=False)}


def _unknown(
    where: str,
    header: Sequence[str],
    sample: Sequence[Sequence[str]],  # [] for JSON lines
    columns: Sequence[Column],
    places: dict[str, int],
    doubts: Sequence[str],
    flag: str,
) -> DataError:
    """Return the error for a first line without the needed names, with a remedy to paste."""
    needed = [column for column in columns if column.required]
    names = [plain(name) for name in header]
    # A text that has its main name is not found if the other one of its pair is missing.
    missing = [c.name for c in needed if c.name not in places and c.names[0] not in names]
    fault = f"no column {_names(missing)}; found {_names(header)}"
    if doubts:
        fault = f"{_names(doubts)} could all be {_names(missing)}"
    if not flag:
        return DataError(
            f"{where}: {fault}; give the columns these names in the first line: "
            f"{_names([column.name for column in needed])}"
        )
    # An example to change: columns with several words in a field as texts, the last other as label.
    at_all = [at for at, name in enumerate(header) if plain(name) not in map(plain, ("", *ID))]
    wordy = [at for at in at_all if any(" " in row[at] for row in sample[1:] if at < len(row))]
    count = sum(column.kind != "label" for column in needed)
    texts = (wordy if len(wordy) >= count else at_all)[:count]
    free = [at for at in at_all if at not in texts]
    others = ([at for at in free if at not in wordy] or free)[-1:]
    chosen = texts + others if count < len(needed) else texts
    by_name = shlex.join(header[at] for at in chosen)
    by_number = " ".join(str(at + 1) for at in chosen)
    if len(chosen) == count == 2 < len(needed):
        labels = "there is no column of labels; add one, or, for a search with run_multitask.py:"
        return DataError(f"{where}: {fault}; {labels} --task search {flag} {by_name}")
    if not sample:
        remedy = f"name the columns: {flag} {by_name}"
    elif any(len(header[at]) > LONGEST_NAME for at in chosen):
        remedy = f"without a header, number the columns: {flag} {by_number}"
    else:
        remedy = f"name the columns: {flag} {by_name}; or, without a header: {flag} {by_number}"
    return DataError(f"{where}: {fault}; {remedy}")


LONGEST_NAME = 40  # characters of a column's name; a longer one is a text


def open_texts(
    path: PathLike,
    columns: Sequence[Column] = (Column("text", TEXT),),
    *,
    hint: str = "",
) -> Table:
    """Open a file of texts: one per line, or a table with a column of texts.

    Each line is a text (`delimiter` is then ""; blank lines are rows, too), unless lines are JSON
    objects, or a header names a text column and all rows have its width. A first line that
    consists only of such a name is a header.

    Args:
        path, columns: as of `open_table`.
        hint: end of the message about lines that are rows of a table.

    Raises:
        DataError: as `open_table`; lines that look like rows of a table without such a header.
    """
    sampled = _sampled(path, "one text per line")
    filled = sampled.filled
    number, first = filled[0]
    texts = [column.name for column in columns if column.kind == "text"]
    if _is_object(first):
        return _table(path, columns, sampled)
    mark, header = _first_line(filled, columns, ())
    places, _ = find_columns(header, columns)
    only_names = KNOWN.issuperset(map(plain, header))
    if len(filled) == 1 and len(header) > 1 and only_names:
        raise _no_rows(path)
    if set(texts) <= places.keys() and len(filled) > 1:
        widths = {len(split_header(text, mark, len(header))) for _, text in filled}
        # Otherwise the first line may be a text that begins like a header: "Text, please."
        if len(header) > 1 and (widths == {len(header)} or only_names):
            return _table(path, columns, sampled)
    is_name = plain(first) in map(plain, ONLY_TEXT) or set(texts) <= places.keys()
    if len(filled) > 1 and len(texts) == len(header) == 1 and is_name:
        logger.warning("%s:%d: %r is the header, not a text", path, number, first)
        below = dropwhile(lambda line: line[0] <= number, sampled.every())
        return Table(path, header, "", {texts[0]: 0}, 1, below)
    _refuse_rows(path, filled, " and ".join(texts), hint)
    return Table(path, (), "", dict.fromkeys(texts, 0), 1, sampled.every())


# A tab, and a comma or semicolon as tables have it: no blank after it, as there is in sentences.
BETWEEN_FIELDS = {"tab": r"\t", "comma": r",(?!\s)", "semicolon": r";(?!\s)", "|||": r"\|\|\|"}
QUOTED = re.compile(r'"(?:[^"]|"")*"')
ROWS = 0.95  # share of lines with the same number of separators, from which on they are rows


def _refuse_rows(path: PathLike, filled: Sequence[tuple[int, str]], name: str, hint: str) -> None:
    """Refuse lines that are rows of a table: nearly all have the same number of a separator."""
    lines = [QUOTED.sub("", text) for _, text in filled]
    for mark, pattern in BETWEEN_FIELDS.items():
        counts = Counter(len(re.findall(pattern, line)) for line in lines)
        count, alike = counts.most_common(1)[0]
        if count and alike >= ROWS * len(lines) and len(lines) > 1:
            if mark == "|||":
                tabs = shlex.join(["sed", r"s/ *||| */\t/g", str(path)])
                hint = f"; {tabs} > {shlex.quote(f'{path}.tsv')} writes tabs{hint}"
            raise DataError(
                f"{path}:{filled[0][0]}: {count + 1} fields with a {mark} between them in nearly "
                f"all lines, expected one text per line, or a header with a column {name}{hint}; "
                f"if each line is a text, write {name} above the first"
            )


def _is_object(text: str) -> bool:
    try:
        json_values("", text)
    except DataError:
        return False
    return True


@dataclass
class _Sampled:
    """A file whose first lines have been read.

    `first` are these lines unchanged, `filled` those that are not blank, without line ends.
    """

    first: list[tuple[int, str]]
    filled: list[tuple[int, str]]
    _rest: Iterator[tuple[int, str]]

    def every(self) -> Iterator[tuple[int, str]]:
        """Return all lines, once; a pipe cannot be opened again."""
        return chain(self.first, self._rest)


def _sampled(path: PathLike, expected: str = "a header line and rows") -> _Sampled:
    lines = numbered_lines(path)
    sampled = _Sampled([], [], lines)
    for number, text in lines:
        sampled.first.append((number, text))
        if text.strip():
            sampled.filled.append((number, text.rstrip("\r\n")))
        if len(sampled.filled) == SAMPLE:
            break
    if not sampled.filled:
        raise DataError(f"{path}: is empty; expected {expected}")
    line, first = sampled.filled[0]
    if len(sampled.filled) == 1 and "\r" in first:
        raise DataError(f"{path}: lines end with bare carriage returns; save it with line feeds")
    if "\0" in first:
        raise _nul(f"{path}:{line}")
    if first.strip() == "{" or _begins_array(first.strip()):
        raise _no_json_lines(f"{path}:{line}")
    return sampled


def _begins_array(text: str) -> bool:
    """Return whether a line is a JSON array or its beginning; `[[Berlin]] is a city.` is none."""
    try:
        return text.startswith("[") and json.JSONDecoder().raw_decode(text)[1] == len(text)
    except ValueError as error:
        return getattr(error, "pos", 0) >= len(text)


def _refuse_twice(where: str, header: Sequence[str], places: dict[str, int]) -> None:
    """Refuse a known name of two columns, and a column that the user names twice."""
    names = [plain(name) for name in header]
    used = {name for name in names if name in KNOWN} | {
        names[at] for at in places.values() if names
    }
    twice = [name for name in header if plain(name) in used - {""} and names.count(plain(name)) > 1]
    if twice:
        raise DataError(f"{where}: {_names(twice[:1])}: more than one column; correct the header")
    taken = list(places.values())
    if same := [name for name, at in places.items() if taken.count(at) > 1]:
        raise DataError(f"{where}: one column is named as {_names(same)}; name each column once")


def _no_rows(path: PathLike) -> DataError:
    return DataError(f"{path}: has a header but no rows; expected at least one row")


def _empty(path: PathLike) -> DataError:
    return DataError(f"{path}: is empty; expected one row per line")


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


def _no_json_lines(where: str) -> DataError:
    return DataError(
        f"{where}: JSON that is not one object per line; write JSON lines, for example by "
        "pandas' to_json(lines=True, orient='records')"
    )


def _json_header(path: PathLike, lines: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Return the keys of the objects in some lines; refuse one object that is a whole table."""
    objects = [json_values(f"{path}:{line}", text) for line, text in lines]
    values = [
        value[0] if isinstance(value, list) and value else value for value in objects[0].values()
    ]
    if len(objects) == 1 and any(isinstance(value, dict | list) for value in values):
        raise _no_json_lines(f"{path}:{lines[0][0]}")
    return tuple(dict.fromkeys(chain(*objects)))


def json_values(where: str, text: str) -> dict[str, Any]:
    """Return the values of a line of JSON by their keys; `where` is for messages."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: is not JSON ({error}); correct the line") from None
    if not isinstance(values, dict):
        raise DataError(f"{where}: is no JSON object; expected one row per line")
    return values


def _json_text(where: str, key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isinf(value):
        raise DataError(f"{where}: {key!r} is a number of no finite size; correct it")
    if isinstance(value, str | int | float):
        if SURROGATE.search(text := str(value)):
            raise DataError(f"{where}: {key!r} is no valid Unicode: {text!a:.60}; correct the text")
        return text
    raise DataError(
        f"{where}: {key!r} holds {'a list' if isinstance(value, list) else 'an object'}, expected "
        "one text or number; write a line for each text"
    )


def _wrong_width(where: str, fields: list[str], expected: int, delimiter: str) -> DataError:
    mark = SEPARATORS.get(delimiter, delimiter)
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
