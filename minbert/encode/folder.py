"""Files of texts to a folder of vectors: one program at a time, one set of settings.

    DIR/manifest.json    settings, files, whether complete; then the encoder, rows and shards
    DIR/vectors/wiki.txt-00003-DIGEST/vectors.parquet    id: string, vector: list of H numbers

One loop over shards encodes all files. It runs in this process, or on a Ray cluster.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import minbert
from data.examples import DataError
from minbert.encode.options import EncodeOptions
from minbert.encode.shards import VECTORS, ShardEncoder, encode_on_ray, format_of
from minbert.encode.texts import optional, shards_of, texts_of
from minbert.hub import find_checkpoint
from runtime.errors import MachineError, UserError
from runtime.files import (
    HANDED_DOWN,
    alone_in,
    fault_of_sealed,
    folder_of,
    read_object,
    sweep,
    write_text,
)
from runtime.processes import num_started
from runtime.progress import progress
from runtime.store import FORMATS, MADE_OF

MANIFEST = "manifest.json"
# Options that may change between commands: where vectors are computed, but not their values.
FREE = ("files", "out", "device", "batch_tokens", "threads", "ray", "workers")


def encode_files(options: EncodeOptions) -> None:
    """Encode all files into the folder; continue where an earlier command stopped.

    Raises:
        UserError: an option's file or model cannot be used; the message is one line.
        OSError: the folder cannot be written.
    """
    if num_started() > 1:
        raise MachineError("encoding runs without torchrun; use --ray --workers N")
    if format_of(options) == "parquet":
        optional("pyarrow.parquet", "--format parquet")
    _check_files(options)
    # All files and models in the options are opened before anything is written. Otherwise a
    # mistake would leave a folder that rejects the corrected command.
    if options.ray:  # the workers open it
        find_checkpoint(options.backbone)
        encode = partial(encode_on_ray, options)
    else:
        encode = partial(map, ShardEncoder(options))
    texts = (
        shard
        for path in options.files
        for shard in shards_of(path, options.column, options.id_column, options.shard_rows)
    )

    def busy() -> None:
        raise DataError(f"{options.out}: another program is writing into it; wait, or name another")

    path = options.out / MANIFEST
    with folder_of(path, path), alone_in(options.out, busy):
        sweep(options.out)
        with _begun(options) as manifest, progress("encode", None, "text") as bar:
            shards = []
            for shard in encode(texts):
                shards.append(shard)
                bar.update(shard["rows"])
            rows = _finish(options, manifest, shards)
    print(f"{rows:,} texts in {len(shards):,} shard(s): {options.out}")


def _check_files(options: EncodeOptions) -> None:
    """Refuse two files of one name, and files without a first text; pipes are read only once."""
    by_name: dict[str, Path] = {}
    for path in options.files:
        if path.name in by_name:
            raise DataError(
                f"{by_name[path.name]} and {path}: two files of one name; rename one, or encode "
                "them into two folders"
            )
        by_name[path.name] = path
        if not str(path).startswith(HANDED_DOWN):
            next(texts_of(path, options.column, options.id_column))


@contextmanager
def _begun(options: EncodeOptions) -> Iterator[dict[str, Any]]:
    """Yield the initial manifest; it is deleted if no shard is completed in the block."""
    path, vectors = options.out / MANIFEST, options.out / VECTORS
    is_new = not path.exists()
    manifest = _begin(options)
    try:
        yield manifest
    except (UserError, OSError):
        if is_new and not (vectors.is_dir() and any(vectors.iterdir())):
            path.unlink()
            with suppress(OSError):
                vectors.rmdir()
        raise


def _begin(options: EncodeOptions) -> dict[str, Any]:
    """Write the manifest's beginning and return it; refuse the folder of another command."""
    path, names = options.out / MANIFEST, [path.name for path in options.files]
    settings = {name: value for name, value in vars(options).items() if name not in FREE}
    settings["format"] = format_of(options)
    if path.exists():
        _check_manifest(read_object(path, DataError), settings, names, options.out)
    elif any(path.name[0] != "." for path in options.out.iterdir()):
        raise DataError(f"{options.out}: holds other files and no {MANIFEST}; name another")
    manifest = {
        "format": FORMATS["vectors"],
        "version": minbert.__version__,
        "settings": settings,
        "files": names,
    }
    _write(path, {**manifest, "complete": False})
    return manifest


def _check_manifest(
    manifest: dict[str, Any], settings: dict[str, Any], names: list[str], out: Path
) -> None:
    """Refuse a folder of another version, other settings, or files that are not named now."""
    before, files = manifest.get("settings"), manifest.get("files")
    known = manifest.get("format") == FORMATS["vectors"]
    if not known or not isinstance(before, dict) or not isinstance(files, list):
        raise DataError(
            f"{out / MANIFEST}: of another version, or damaged; delete {out}, or name another "
            "--out, and encode again"
        )
    for name, value in settings.items():
        if before.get(name) != value:
            raise DataError(
                f"{out}: written with {name} {before.get(name)}, not {value}; give that, or name "
                "another --out"
            )
    for name in files:
        if name not in names:
            raise DataError(
                f"{out}: holds shards of {name}, which is not among the files; name it too, or "
                "another --out"
            )


def _finish(options: EncodeOptions, manifest: dict[str, Any], shards: list[dict[str, Any]]) -> int:
    """Delete shards that the files no longer have, write the manifest, and return its rows."""
    encoders = {shard.pop("encoder") for shard in shards}
    if len(encoders) > 1:
        raise DataError(
            f"{options.out}: {len(encoders)} encoders wrote these shards; the workers' checkpoints "
            "or processors differ: give --device and --precision"
        )
    current = {Path(shard["file"]).parent.name for shard in shards}
    for folder in (options.out / VECTORS).iterdir():
        if folder.name not in current and _is_shard(folder):
            shutil.rmtree(folder)
    rows = sum(shard["rows"] for shard in shards)
    manifest = {**manifest, "complete": True, "encoder": encoders.pop(), "rows": rows}
    _write(options.out / MANIFEST, {**manifest, "shards": shards})
    return rows


def _is_shard(path: Path) -> bool:
    """Return whether a path is a whole shard of ours; anything else in the folder is a user's."""
    ours = path.is_dir() and not path.is_symlink() and (path / MADE_OF).is_file()
    return ours and fault_of_sealed(path) is None


def _write(path: Path, manifest: dict[str, Any]) -> None:
    write_text(path, json.dumps(manifest, indent=1) + "\n")
