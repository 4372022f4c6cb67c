"""Files of texts to a folder of vectors: one program at a time, one set of settings.

DIR/manifest.json    settings, whether complete; then the encoder, rows, shards, and the
                     seconds that they took one after another
"""

import json
import time
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

import minbert
from data.examples import DataError
from minbert.config import CheckpointError
from minbert.encode.options import Options
from minbert.encode.shards import (
    FORMAT,
    RECORDS,
    VECTORS,
    Record,
    Source,
    Text,
    complete,
    made_of,
    pyarrow,
    record_path,
    write_record,
    write_shard,
)
from minbert.encoder import SentenceEncoder
from runtime.device import release_memory
from runtime.errors import MachineError
from runtime.files import sweep, write_text
from runtime.json_file import read_object
from runtime.locks import alone_in
from runtime.processes import num_started
from runtime.progress import progress

MANIFEST = "manifest.json"
# What may change from one command to the next: where vectors are computed, not which.
FREE = ("files", "out", "device", "batch_tokens", "threads", "ray", "workers")


def encode_files(options: Options) -> None:
    """Encode all files into the folder, or what an earlier command has not finished.

    Raises:
        UserError: something that the options name cannot be used; the message is one line.
        OSError: the folder cannot be written.
    """
    if num_started() > 1:
        raise MachineError("encoding runs without torchrun; use --ray --workers N")
    if format_of(options) == "parquet":
        pyarrow("--format parquet")
    names = [path.name for path in options.files]
    for path, name in zip(options.files, names, strict=True):  # shards and ids are named by it
        first = options.files[names.index(name)]
        if first is not path:
            raise DataError(
                f"{first} and {path}: two files of one name; rename one, or encode them into two "
                "folders"
            )

    def busy() -> None:
        raise DataError(f"{options.out}: another program is writing into it; wait, or name another")

    options.out.mkdir(parents=True, exist_ok=True)
    with alone_in(options.out, busy), progress("encode", None, "text") as bar:
        sweep(options.out, deep=True)
        _begin(options)
        records = []
        for record in _records(options):
            records.append(record)
            bar.update(record.rows)

        def place(record: Record) -> tuple[int, int]:
            name, _, number = Path(record.file).stem.rpartition("-")
            return names.index(name), int(number)

        records.sort(key=place)
        _finish(options, records)
    rows = sum(record.rows for record in records)
    print(f"{rows:,} texts in {len(records):,} shard(s): {options.out}")


def _records(options: Options) -> Iterable[Record]:
    """Yield the records of all shards, which are then complete, in any order."""
    if options.ray:
        from minbert.encode.over_ray import encode_on_ray

        yield from encode_on_ray(options)
        return
    encode = ShardEncoder(options)
    for path in options.files:
        source = Source(path, options.column, options.id_column)
        for number, texts in enumerate(source.shards(options.shard_rows)):
            yield encode(source.shard_name(number), texts)


def _settings(options: Options) -> dict[str, Any]:
    """Return what decides the vectors and how they are cut, as the manifest says it."""
    settings = {name: value for name, value in vars(options).items() if name not in FREE}
    return {**settings, "format": format_of(options)}


def _begin(options: Options) -> None:
    """Write the manifest's beginning, unless the folder has one with the same settings.

    Raises:
        DataError: other settings, other files' shards, or files of something else.
    """
    path = options.out / MANIFEST
    if not path.exists():
        known = {VECTORS, RECORDS}
        if any(p.name not in known and p.name[0] != "." for p in options.out.iterdir()):
            raise DataError(f"{options.out}: holds other files and no {MANIFEST}; name another")
    else:
        manifest, asked = read_object(path, DataError), _settings(options)
        held = manifest.get("settings", {})
        for name in asked:
            if held.get(name) != asked[name]:
                raise DataError(
                    f"{options.out}: made with {name} {held.get(name)}, not {asked[name]}; give "
                    "that, or name another --out"
                )
        if manifest.get("format") != FORMAT:
            print(f"{options.out}: written by an older version; all shards are encoded again")
    strangers = set(_held(options.out)) - {path.name for path in options.files}
    if strangers:
        raise DataError(
            f"{options.out}: holds shards of {sorted(strangers)[0]}, which is not among the files; "
            "name it too, or another --out"
        )
    _write(options, complete=False)


def _held(folder: Path) -> dict[str, list[Path]]:
    """Return the shards' files and records in a folder, by the name of the file they are of."""
    held: dict[str, list[Path]] = {}
    for path in (*folder.glob(f"{VECTORS}/[!.]*"), *folder.glob(f"{RECORDS}/[!.]*")):
        held.setdefault(path.name.rpartition("-")[0], []).append(path)
    return held


def _finish(options: Options, records: list[Record]) -> None:
    """Delete shards that the files no longer have, and write the manifest.

    Raises:
        DataError: the shards are of several encoders.
    """
    encoders = {record.encoder for record in records}
    if len(encoders) > 1:
        raise DataError(
            f"{options.out}: {len(encoders)} encoders made these shards; the workers' checkpoints "
            "or processors differ: give --device and --precision"
        )
    kept = {options.out / VECTORS / record.file for record in records}
    kept |= {record_path(options.out, Path(record.file).stem) for record in records}
    for path in chain(*_held(options.out).values()):
        if path not in kept:
            path.unlink()
    more = {
        "encoder": encoders.pop(),
        "rows": sum(record.rows for record in records),
        "seconds": round(sum(record.seconds for record in records), 3),
        "shards": [{"file": r.file, "rows": r.rows, "sha256": r.sha256} for r in records],
    }
    _write(options, complete=True, **more)


def _write(options: Options, **more: Any) -> None:
    about = {"format": FORMAT, "version": minbert.__version__, "settings": _settings(options)}
    write_text(options.out / MANIFEST, json.dumps(about | more, indent=1) + "\n")


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
            self.encoder.tokenize([""], max_length=options.max_length)  # refuses what does not fit
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
        sha256 = write_shard(options.out / VECTORS / file, [text.id for text in texts], vectors)
        seconds = round(time.perf_counter() - began, 3)
        record = Record(file, len(texts), digest, sha256, self.fingerprint, seconds)
        write_record(options.out, name, record)
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
