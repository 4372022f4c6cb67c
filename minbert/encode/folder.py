"""Files of texts to a folder of vectors: one program at a time, one set of settings.

DIR/manifest.json    settings, whether complete; then the encoder, rows, shards, and the
                     seconds that they took one after another
"""

import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import minbert
from data.examples import DataError
from minbert.encode.options import Options
from minbert.encode.shards import (
    FORMAT,
    RECORDS,
    VECTORS,
    Record,
    ShardEncoder,
    Source,
    format_of,
    pyarrow,
    record_path,
)
from minbert.hub import find_checkpoint
from runtime.errors import MachineError
from runtime.files import alone_in, read_object, sweep, write_text
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

    # What the options name is opened before anything is written, so that no mistake leaves a folder
    # that refuses the right command.
    for path in options.files:
        Source(path, options.column, options.id_column).check()
    encode = None if options.ray else ShardEncoder(options)
    if encode is None:  # the workers open it
        find_checkpoint(options.backbone)

    def busy() -> None:
        raise DataError(f"{options.out}: another program is writing into it; wait, or name another")

    options.out.mkdir(parents=True, exist_ok=True)
    with alone_in(options.out, busy), progress("encode", None, "text") as bar:
        sweep(options.out, deep=True)
        _begin(options)
        records = []
        for record in _records(options, encode):
            records.append(record)
            bar.update(record.rows)

        def place(record: Record) -> tuple[int, int]:
            name, _, number = Path(record.file).stem.rpartition("-")
            return names.index(name), int(number)

        records.sort(key=place)
        _finish(options, records)
    rows = sum(record.rows for record in records)
    print(f"{rows:,} texts in {len(records):,} shard(s): {options.out}")


def _records(options: Options, encode: ShardEncoder | None) -> Iterable[Record]:
    """Yield the records of all shards, which are then complete, in any order; without `encode`, of
    Ray's workers.
    """
    if encode is None:
        from minbert.encode.over_ray import encode_on_ray

        yield from encode_on_ray(options)
        return
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
