"""Files of texts read as streams and cut into shards: lines, tables and .parquet."""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from data.examples import DataError
from data.table import TEXT, Column, open_table, open_texts
from runtime.errors import MachineError
from runtime.files import OPENERS

TABLES = (".tsv", ".csv", ".jsonl", ".json")
USUAL = "text"  # column of texts
REMEDY = "name one with --column"
PARQUET_ROWS = 4096  # that are read at a time


class Shard(NamedTuple):
    """Texts of a file that are encoded and written together."""

    name: str  # of the file, and the number of the shard in it, from 0
    ids: list[str]  # one per text
    texts: list[str]  # without white space around them


def shards_of(path: Path, column: str, id_column: str | None, rows: int) -> Iterator[Shard]:
    """Yield the texts of a file in shards of `rows`, the last one shorter; one is in memory.

    Args:
        path: of text (one per line), a table with a header, JSON lines (these also compressed), or
            .parquet. A file of another ending than a table's is a table if its content is.
        column: of a table, with the texts.
        id_column: of a table, with the ids; None: a text's id is its file's name and line.
        rows: texts per shard.

    Raises:
        DataError: an unreadable file, a missing column, a blank id; at the end, no text at all.
        MachineError: a .parquet file without pyarrow.
    """
    texts = texts_of(path, column, id_column)
    number = 0
    while pairs := list(islice(texts, rows)):
        ids, texts_of_shard = map(list, zip(*pairs, strict=True))
        yield Shard(f"{path.name}-{number:05d}", ids, texts_of_shard)
        number += 1


def texts_of(path: Path, column: str, id_column: str | None) -> Iterator[tuple[str, str]]:
    """Yield (id, text) of a file, blank texts left out; arguments and errors as above."""
    is_empty = True
    for line, row in _rows(path, column, id_column):
        text = _field(row[column])
        if not text:
            continue
        id = f"{path.name}:{line}" if id_column is None else _field(row[id_column])
        if not id:
            raise DataError(f"{path}:{line}: no id in column {id_column!r}; add one")
        is_empty = False
        yield id, text
    if is_empty:
        raise DataError(f"{path}: no text; expected one per line, or per row of a table")


def _field(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _rows(path: Path, column: str, id_column: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return (line, row as {column: value}) of a file; of .parquet, the row's number from 1."""
    columns = [column] if id_column is None else [column, id_column]
    ending = (path.with_suffix("") if path.suffix in OPENERS else path).suffix.lower()
    if ending == ".parquet":
        return _parquet_rows(path, columns)
    if ending in TABLES or id_column is not None or column != USUAL:
        wanted = [Column(name, kind="other") for name in columns]
        return open_table(path, wanted, named=columns, flag="--column").rows()
    return open_texts(path, [Column(column, TEXT)], hint=f"; {REMEDY}").rows()


def _parquet_rows(path: Path, columns: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    parquet = optional("pyarrow.parquet", str(path))
    line = 0
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            for column in columns:
                if column not in names:
                    raise DataError(
                        f"{path}: no column {column!r}; found {', '.join(map(repr, names))}; "
                        f"{REMEDY}"
                    )
            for batch in file.iter_batches(PARQUET_ROWS, columns=columns):
                for row in batch.to_pylist():
                    line += 1
                    yield line, row
    except DataError:
        raise
    except OSError as error:  # pyarrow's errors of files are OSErrors or ValueErrors
        raise DataError(f"{path}: cannot be read ({error}); check the file") from None
    except ValueError as error:
        raise DataError(f"{path}: not a readable Parquet file ({error})") from None


def optional(module: str, what_for: str) -> Any:
    """Return a module of the extra `scale` of pyproject.toml; MachineError if it is absent."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MachineError(
            f"{what_for}: needs {library} ({error}); pip install -e '.[scale]'"
        ) from None
