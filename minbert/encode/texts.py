"""Texts with their ids, read as a stream and cut into shards."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from data.examples import DataError
from data.tables import numbered_lines, read_table
from minbert.encode.extras import pyarrow
from runtime.files import OPENERS

DELIMITERS = {".tsv": "\t", ".csv": ","}
PARQUET_ROWS = 4096  # that are read at a time


class Text(NamedTuple):
    """A text and its id."""

    id: str
    text: str


@dataclass(frozen=True)
class Source:
    """A file of texts.

    Attributes:
        path: of text, .tsv, .csv (these also compressed) or .parquet.
        column: of a table, with the texts.
        id_column: of a table, with the ids; None: a text's id is its file's name and line.
    """

    path: Path
    column: str = "text"
    id_column: str | None = None

    def shards(self, rows: int) -> Iterator[list[Text]]:
        """Yield the texts in lists of `rows`, the last one shorter; blank ones are left out.

        Raises:
            DataError: an unreadable file, a missing column, a blank id; at the end, no text at all.
            MachineError: a .parquet file without pyarrow.
        """
        found = False
        texts = self._texts()
        while shard := list(islice(texts, rows)):
            found = True
            yield shard
        if not found:
            raise DataError(f"{self.path}: no text; expected one per line, or per row of a table")

    def shard_name(self, number: int) -> str:
        """Return what a shard of the file is called, counted from 0."""
        return f"{self.path.name}-{number:05d}"

    def _texts(self) -> Iterator[Text]:
        for line, id, text in self._rows():
            where = f"{self.path.name}:{line}"
            if not text.strip():
                continue
            if self.id_column is not None and not id.strip():
                raise DataError(f"{self.path}:{line}: no id in column {self.id_column!r}; add one")
            yield Text(where if self.id_column is None else id.strip(), text.strip())

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        """Yield line (of .parquet, row from 1), id ("" without an id column) and text."""
        name = self.path.with_suffix("") if self.path.suffix in OPENERS else self.path
        if name.suffix == ".parquet":
            yield from self._parquet_rows()
        elif name.suffix in DELIMITERS:
            table = read_table(self.path, self._columns(), DELIMITERS[name.suffix])
            for line, row in table:
                yield line, row[self.id_column] if self.id_column else "", row[self.column]
        elif self.id_column is not None:
            raise DataError(f"{self.path}: --id-column is for .tsv, .csv and .parquet files")
        else:
            for line, text in numbered_lines(self.path):
                yield line, "", text

    def _parquet_rows(self) -> Iterator[tuple[int, str, str]]:
        parquet = pyarrow(str(self.path)).parquet
        line = 0
        try:
            with parquet.ParquetFile(self.path) as file:
                missing = set(self._columns()) - set(file.schema_arrow.names)
                if missing:
                    raise DataError(
                        f"{self.path}: no column {missing.pop()!r}; found "
                        f"{', '.join(map(repr, file.schema_arrow.names))}; name one with --column"
                    )
                for batch in file.iter_batches(PARQUET_ROWS, columns=self._columns()):
                    columns = [batch.column(name).to_pylist() for name in self._columns()]
                    for values in zip(*columns, strict=True):
                        line += 1
                        yield line, _said(values[-1]) if self.id_column else "", _said(values[0])
        except OSError as error:  # pyarrow's errors of files are OSErrors or ValueErrors
            raise DataError(f"{self.path}: cannot be read ({error}); check the file") from None
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.path}: not a readable Parquet file ({error})") from None

    def _columns(self) -> list[str]:
        return [self.column, *([self.id_column] if self.id_column else [])]


def _said(value: Any) -> str:
    """Return a field of a Parquet column as text; one without a value is blank."""
    return "" if value is None else str(value)


def check_names(files: tuple[Path, ...]) -> None:
    """Refuse two files of one name: shards and ids are named by it.

    Raises:
        DataError: there are two.
    """
    seen: dict[str, Path] = {}
    for path in files:
        other = seen.setdefault(path.name, path)
        if other is not path:
            raise DataError(
                f"{other} and {path}: two files of one name; rename one, or encode them into two "
                "folders"
            )
