"""Texts read as a stream, cut into shards and encoded; a shard on disk.

    DIR/vectors/wiki.txt-00003.parquet    id: string, vector: list of H float32 (or float16)
    DIR/records/wiki.txt-00003.json       rows, seconds, and two digests: of what the shard was
                                          made of, and of the file

The record is written last: a shard without a record, or with one that does not match its file, is
encoded again. It is a file of its own: a seal (`runtime.files`) would stand where readers of
Parquet look for the end.

Legend: n rows, H hidden_size.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from data.examples import DataError
from data.tables import numbered_lines, read_table
from minbert.config import CheckpointError
from minbert.encode.options import Options
from minbert.encoder import SentenceEncoder
from runtime.device import release_memory
from runtime.errors import MachineError, UserError
from runtime.files import (
    HANDED_DOWN,
    OPENERS,
    file_digest,
    read_object,
    texts_digest,
    whole_file,
    write_text,
)

FORMAT = 2  # of shards and records; raised when their meaning changes
VECTORS, RECORDS = "vectors", "records"
DELIMITERS = {".tsv": "\t", ".csv": ","}
PARQUET_ROWS = 4096  # that are read at a time


def optional(library: str, module: str, what_for: str) -> Any:
    """Return a library of the extra `scale` of pyproject.toml, with one of its modules.

    Raises:
        MachineError: it is not installed.
    """
    # A library does not import all of its modules: pyarrow.parquet has to be asked for.
    try:
        import_module(module)
        return import_module(library)
    except ImportError as error:
        raise MachineError(
            f"{what_for}: needs {library} ({error}); pip install -e '.[scale]'"
        ) from None


def pyarrow(what_for: str) -> Any:
    """Return pyarrow, with its module parquet; raise MachineError where it is not installed."""
    return optional("pyarrow", "pyarrow.parquet", what_for)


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
        # A generator of texts, cut as it is read: no more than one shard is in memory.
        any_text = False
        texts = self._texts()
        while shard := list(islice(texts, rows)):
            any_text = True
            yield shard
        if not any_text:
            raise DataError(f"{self.path}: no text; expected one per line, or per row of a table")

    def check(self) -> None:
        """Raise what `shards` raises of the first row; a shell's pipe, read once, is let be."""
        if not str(self.path).startswith(HANDED_DOWN):
            next(self.shards(1), None)

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
            table = read_table(self.path, self._columns(), DELIMITERS[name.suffix], spans=True)
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
                        # A field without a value is blank.
                        text, *id = ["" if value is None else str(value) for value in values]
                        yield line, id[0] if id else "", text
        except OSError as error:  # pyarrow's errors of files are OSErrors or ValueErrors
            raise DataError(f"{self.path}: cannot be read ({error}); check the file") from None
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.path}: not a readable Parquet file ({error})") from None

    def _columns(self) -> list[str]:
        return [self.column, *([self.id_column] if self.id_column else [])]


@dataclass(frozen=True)
class Record:
    """What is known of a complete shard.

    Attributes:
        file: its name in DIR/vectors.
        rows: n.
        made_of: SHA-256 of the encoder, the settings, ids and texts.
        sha256: of the file.
        encoder: the encoder's fingerprint.
        seconds: that encoding and writing took.
    """

    file: str
    rows: int
    made_of: str
    sha256: str
    encoder: str
    seconds: float


def made_of(texts: Iterable[Text], encoder: str, settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what decides the bytes of a shard, rounding left aside.

    Args:
        texts: of the shard.
        encoder: the encoder's fingerprint.
        settings: of the command, as the manifest holds them.
    """
    # What changes no number, such as the size of batches or the device's threads, does not count.
    decisive = tuple(settings[name] for name in ("normalize", "float16", "format"))
    return texts_digest(f"{FORMAT} {encoder} {decisive}", chain(*texts))


def record_path(folder: Path, name: str) -> Path:
    """Return where the record of a shard is."""
    return folder / RECORDS / f"{name}.json"


def complete(folder: Path, name: str, made_of: str) -> Record | None:
    """Return the record of a shard that is there, undamaged and made of that; else None."""
    try:
        record = Record(**read_object(record_path(folder, name)))
        # Whatever a record says, its file is one of this folder.
        path = folder / VECTORS / Path(record.file).name
        same = record.made_of == made_of and file_digest(path) == record.sha256
    except (UserError, OSError, TypeError):
        return None
    return record if same else None


def write_shard(path: Path, ids: list[str], vectors: np.ndarray) -> str:
    """Write the file of a shard whole; return its SHA-256.

    Args:
        path: .parquet, or .npz, of which np.load gives the arrays `id` and `vector`.
        ids: n of them.
        vectors: (n, H).
    """
    with whole_file(path) as temporary:
        if path.suffix == ".parquet":
            pa = pyarrow("--format parquet")
            # (n, H) end to end is what a column of n lists of H numbers is on disk: no copy.
            lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
            table = pa.table({"id": ids, "vector": lists})
            # Vectors hardly repeat and hardly compress: trying costs time and saves no space.
            pa.parquet.write_table(table, temporary, compression="none", use_dictionary=False)
        else:
            # To a name NumPy would add .npz; to an open file it adds nothing.
            with temporary.open("wb") as file:
                np.savez(file, id=np.array(ids), vector=vectors)
        return file_digest(temporary)


def read_vectors(path: Path) -> np.ndarray:
    """Return the vectors of a shard that `complete` has found to be so, (n, H)."""
    if path.suffix != ".parquet":
        with np.load(path) as arrays:
            return np.asarray(arrays["vector"])
    column = pyarrow(str(path)).parquet.read_table(path, columns=["vector"])["vector"]
    # (n * H,) numbers end to end -> (n, H).
    flat = column.combine_chunks().flatten().to_numpy()
    return np.asarray(flat.reshape(len(column), -1))


def write_record(folder: Path, name: str, record: Record) -> None:
    """Write the record of a shard, whose file is there."""
    write_text(record_path(folder, name), json.dumps(asdict(record), indent=1) + "\n")


class ShardEncoder:
    """The encoder of a command line; called with a shard, it leaves its file and record.

    Attributes:
        encoder: the encoder.
        fingerprint: its own, which takes a moment.
    """

    def __init__(self, options: Options):
        """Open the encoder.

        Raises:
            CheckpointError: it is not found, damaged, or cannot be pooled so.
            MachineError: no such device.
            UserError: it has no positions for that many tokens.
        """
        self.options = options
        if options.threads:
            torch.set_num_threads(options.threads)
        self.encoder = SentenceEncoder.from_pretrained(
            options.backbone, options.pooling, options.device, options.precision
        ).freeze()
        if options.max_length is not None:
            # Refuses more tokens than there are positions, before anything is encoded.
            self.encoder.tokenize([""], max_length=options.max_length)
            self.encoder.max_length = options.max_length
        self.fingerprint = self.encoder.fingerprint()

    def __call__(self, name: str, texts: list[Text]) -> Record:
        """Encode a shard unless it is there, complete and undamaged; return its record.

        Args:
            name: of the shard.
            texts: n of them.

        Raises:
            CheckpointError: the encoder gives vectors that are not finite.
            OSError: the folder cannot be written.
        """
        options = self.options
        settings = {**vars(options), "format": format_of(options)}
        digest = made_of(texts, self.fingerprint, settings)
        # A shard that is there was made of the same texts, encoder and settings, or is made again.
        if record := complete(options.out, name, digest):
            return record
        began = time.perf_counter()
        vectors = self._vectors([text.text for text in texts])
        file = f"{name}.{format_of(options)}"
        # The file first, then the record that vouches for it.
        sha256 = write_shard(options.out / VECTORS / file, [text.id for text in texts], vectors)
        seconds = round(time.perf_counter() - began, 3)
        record = Record(file, len(texts), digest, sha256, self.fingerprint, seconds)
        write_record(options.out, name, record)
        # What batches of all sizes leave behind would otherwise grow from shard to shard.
        release_memory()
        return record

    def _vectors(self, texts: list[str]) -> np.ndarray:
        """Return (n, H) float32 or float16."""
        vectors: np.ndarray = self.encoder.encode(
            texts,
            self.options.batch_tokens,
            show_progress=False,
            normalize_embeddings=self.options.normalize,
        )
        # Half the space; a number beyond 65,504 becomes infinite, which is refused below.
        if self.options.float16:
            with np.errstate(over="ignore"):
                vectors = vectors.astype(np.float16)
        if not np.isfinite(vectors).all():
            raise CheckpointError(
                f"{self.options.backbone}: gives vectors that are not finite in {vectors.dtype}"
            )
        return vectors


def format_of(options: Options) -> str:
    """Return the format of shards: parquet or npz."""
    if options.format != "auto":
        return options.format
    return "parquet" if find_spec("pyarrow") else "npz"
