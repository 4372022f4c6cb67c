"""A shard on disk: a file of ids and vectors, and the record that says what it holds.

    DIR/vectors/wiki.txt-00003.parquet    id: string, vector: list of H float32 (or float16)
    DIR/records/wiki.txt-00003.json       rows, seconds, and two digests: of what the shard was
                                          made of, and of the file

The record is written last: a shard that has none, or another than its file, is made again. A seal
(`runtime.sealed`) would stand where readers of Parquet look for the end, hence a file of its own.
Reads: texts. Feeds: encoding, the command line. Legend: n rows, H hidden_size.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import minbert
from minbert.encode.extras import pyarrow
from minbert.encode.texts import Text
from runtime.digests import file_digest, texts_digest
from runtime.errors import UserError
from runtime.files import whole_file, write_text
from runtime.json_file import read_object

VECTORS, RECORDS = "vectors", "records"


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


def made_of(
    texts: Iterable[Text],
    encoder: str,
    settings: Mapping[str, Any],
    version: str = minbert.__version__,
) -> str:
    """Return the SHA-256 of what decides the bytes of a shard, rounding left aside.

    Args:
        texts: of the shard.
        encoder: the encoder's fingerprint.
        settings: of the command, as the manifest holds them.
        version: of this project, that made the shard.
    """
    decisive = tuple(settings[name] for name in ("normalize", "float16", "format"))
    return texts_digest(f"{version} {encoder} {decisive}", chain(*texts))


def record_path(folder: Path, name: str) -> Path:
    """Return where the record of a shard is."""
    return folder / RECORDS / f"{name}.json"


def complete(folder: Path, name: str, made_of: str) -> Record | None:
    """Return the record of a shard that is there, undamaged and made of that; else None."""
    try:
        record = Record(**read_object(record_path(folder, name)))
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
            _write_parquet(temporary, ids, vectors)
        else:
            with temporary.open("wb") as file:
                np.savez(file, id=np.array(ids), vector=vectors)
        return file_digest(temporary)


def _write_parquet(path: Path, ids: list[str], vectors: np.ndarray) -> None:
    pa = pyarrow("--format parquet")
    flat = pa.array(vectors.ravel())
    columns = {"id": ids, "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])}
    # Vectors hardly repeat and hardly compress: trying costs time and saves no space.
    pa.parquet.write_table(pa.table(columns), path, compression="none", use_dictionary=False)


def read_vectors(path: Path) -> np.ndarray:
    """Return the vectors of a shard that `complete` has found to be so, (n, H)."""
    if path.suffix != ".parquet":
        with np.load(path) as arrays:
            return np.asarray(arrays["vector"])
    column = pyarrow(str(path)).parquet.read_table(path, columns=["vector"])["vector"]
    flat = column.combine_chunks().flatten().to_numpy()
    return np.asarray(flat.reshape(len(column), -1))


def write_record(folder: Path, name: str, record: Record) -> None:
    """Write the record of a shard, whose file is there."""
    write_text(record_path(folder, name), json.dumps(asdict(record), indent=1) + "\n")
