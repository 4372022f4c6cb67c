"""An index made, continued, or added to; only texts that are new to it are encoded.

Vectors may also be those that `python -m minbert.encode` has left in a folder. It holds no texts,
so these are read again from the files, and its records say whether a shard was made of just these.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from data.examples import DataError
from minbert.config import CheckpointError
from minbert.encode.folder import MANIFEST
from minbert.encode.shards import FORMAT, VECTORS, Source, complete, made_of
from minbert.encode.shards import read_vectors as read_shard
from minbert.encoder import SentenceEncoder
from runtime.files import (
    fault_of,
    read_object,
    save_array,
    seal_folder,
    sweep,
    texts_digest,
    whole_folder,
    write_text,
)
from runtime.progress import progress
from search.encoders import identities, identity, open_encoder
from search.index import (
    PART,
    STDIN,
    Meta,
    Part,
    Row,
    Texts,
    lines_of,
    part_folder,
    read_meta,
    read_rows,
    read_vectors,
)
from search.options import IndexOptions

# Texts of one call of the encoder, and of a step of the progress bar: with 1,024, encoding takes a
# fifth longer.
STEP = 4096
Numbered = Iterator[tuple[int, Row]]


def make_index(options: IndexOptions) -> None:
    """Make, continue or extend an index.

    Raises:
        UserError: something that the options name cannot be used; the message is one line.
        OSError: the index cannot be written.
    """
    old = read_meta(options.out)
    if options.file != STDIN and not options.file.exists():
        next(lines_of(options.file), None)  # says so before an encoder is loaded
    stored = StoredVectors(options.vectors) if options.vectors else None
    made = old or stored  # what says how
    name = options.backbone or (made.backbone if made else "mini-sts")
    pooling = options.pooling or (made.pooling if made else None)
    encoder = open_encoder(name, pooling, options.device, options.precision)
    if stored:
        stored.check_encoder(encoder, name)
    if Path(name).expanduser().is_dir():
        name = str(Path(name).expanduser().resolve())  # a query may come from another folder
    made_by = Meta(name, pooling, identity(encoder), encoder.model.config.hidden_size)
    before = old.last_line if old and options.append else 0
    rows: Numbered = read_rows(options.file, options.ids, before)
    encode = by_encoder(encoder)
    if stored:
        rows, encode = stored.rows(options.file, before), stored_vectors
    with progress("index", None if stored else _num_lines(options.file), "text") as bar:
        meta = Builder(options.out, made_by, encode, bar.update).index(rows, options.append)
    new = meta.count - (old.count if old else 0)
    print(
        f"{meta.count:,} texts, {new:,} of them new, {meta.hidden_size} dimensions: {options.out}"
    )


def _num_lines(path: Path) -> int | None:
    """Return how many lines a file has, for the progress bar; None for what is read only once."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        blocks = iter(partial(file.read, 2**20), b"")  # a line may be as long as the file
        return sum(block.count(b"\n") for block in blocks)


class Builder:
    """Writes parts of an index."""

    def __init__(
        self,
        folder: Path,
        made_by: Meta,
        encode: Callable[[list[Row]], np.ndarray],
        tick: Callable[[int], Any] = lambda count: None,
    ):
        """Begin; nothing is written yet.

        Args:
            folder: of the index.
            made_by: what its meta.json says, before there are parts.
            encode: gives the vectors of new rows, (n, H) float32 of length 1.
            tick: called with a number of texts as they are done.
        """
        self.folder, self.made_by, self.encode, self.tick = folder, made_by, encode, tick

    def index(self, rows: Numbered, append: bool = False) -> Meta:
        """Make the index hold `rows`, or add them to it; return what its meta.json says then.

        Without `append`, rows that it holds already must be the first of `rows`: an interrupted
        command is continued, and lines that the file has gained are added.

        Args:
            rows: line numbers, texts and ids.
            append: all of `rows` are new.

        Raises:
            DataError: the index holds other texts, is damaged, or changed meanwhile.
            CheckpointError: another encoder made it, or this one gives no finite vectors.
        """
        sweep(self.folder, deep=True)
        old = read_meta(self.folder)
        if old and old.encoder != self.made_by.encoder:
            pooled = f" with --pooling {old.pooling}" if old.pooling else ""
            raise CheckpointError(
                f"{self.folder}: made by another encoder, {old.backbone}{pooled}, or its weights "
                "have changed; name another --out"
            )
        if old and not append:
            self._check_begins(rows, old)
        new = self._extend(old or self.made_by, rows)
        if new.parts == (old.parts if old else ()):
            return new
        if read_meta(self.folder) != old:
            raise DataError(f"{self.folder}: changed meanwhile; run the same command again")
        write_text(self.folder / "meta.json", json.dumps(new.to_json(), indent=1) + "\n")
        for part in set(old.parts if old else ()) - set(new.parts):  # a last part that was filled
            shutil.rmtree(part_folder(self.folder, part.name), ignore_errors=True)
        return new

    def _check_begins(self, rows: Numbered, old: Meta) -> None:
        """Take the texts that the index holds from `rows`; parts that were lost are made again."""
        for part in old.parts:
            chunk = [row for _, row in islice(rows, part.count)]
            if self._name(chunk) != part.name:
                raise DataError(
                    f"{self.folder}: holds other texts; add to them with --append, or name "
                    "another --out"
                )
            self._write(chunk, None)

    def _extend(self, meta: Meta, rows: Numbered) -> Meta:
        """Return `meta` with the parts of new rows, which are written."""
        parts, last_line = list(meta.parts), meta.last_line
        tail = parts.pop() if parts and parts[-1].count < PART else None
        while chunk := list(islice(rows, PART - (tail.count if tail else 0))):
            parts.append(self._write([row for _, row in chunk], tail))
            last_line, tail = chunk[-1][0], None
        parts += [tail] if tail else []
        return replace(self.made_by, last_line=last_line, parts=tuple(parts))

    def _write(self, rows: list[Row], tail: Part | None) -> Part:
        """Write a part unless it is there: the texts of `tail`, a part that was not full, and rows.

        So the parts do not depend on how many commands added the texts.
        """
        texts = Texts(self.folder, tail) if tail else None
        held = [texts.row(number) for number in range(len(texts))] if texts else []
        part = Part(self._name([*held, *rows]), len(held) + len(rows))
        target = part_folder(self.folder, part.name)
        if target.is_dir() and not fault_of(target):
            self.tick(len(rows))
            return part
        vectors = [read_vectors(self.folder, tail, self.made_by.hidden_size)] if tail else []
        vectors += [self._encode(rows[at : at + STEP]) for at in range(0, len(rows), STEP)]
        lines = [f"{row.id}\t{row.text}\n".encode() for row in (*held, *rows)]
        with whole_folder(target) as temporary:
            save_array(temporary / "vectors.npy", np.concatenate(vectors))
            save_array(temporary / "offsets.npy", np.cumsum([0, *map(len, lines)]))
            (temporary / "texts.tsv").write_bytes(b"".join(lines))
            seal_folder(temporary)
        return part

    def _name(self, rows: list[Row]) -> str:
        return texts_digest(self.made_by.encoder, (field for row in rows for field in row))[:16]

    def _encode(self, rows: list[Row]) -> np.ndarray:
        vectors = self.encode(rows)
        if not np.isfinite(vectors).all():
            raise CheckpointError(f"{self.made_by.backbone}: gives vectors that are not finite")
        self.tick(len(rows))
        return vectors


def by_encoder(encoder: SentenceEncoder) -> Callable[[list[Row]], np.ndarray]:
    """Return what encodes rows."""

    def encode(rows: list[Row]) -> np.ndarray:
        texts = [row.text for row in rows]
        return np.asarray(encoder.encode(texts, show_progress=False, normalize_embeddings=True))

    return encode


# What the settings must say.
NEEDED = (
    *("backbone", "pooling", "column", "id_column", "shard_rows"),
    *("normalize", "float16", "format"),
)


class StoredRow(Row):
    """A text with its vector, (H,) float32 or float16 of any length."""

    vector: np.ndarray


class StoredVectors:
    """The vectors of a folder.

    Attributes:
        folder: where they are.
        settings: of the command that made them.
        backbone: the checkpoint's name or folder, as that command was given it.
        pooling: that was asked for; None is what the checkpoint states.
    """

    def __init__(self, folder: Path):
        """Open them.

        Raises:
            DataError: there are none, or not all yet.
        """
        manifest = read_object(folder / MANIFEST, DataError)
        if manifest.get("complete") is not True:
            raise DataError(f"{folder}: not all is encoded; run the command that made it again")
        if manifest.get("format") != FORMAT:
            raise DataError(f"{folder}: written by another version of this project; encode again")
        try:
            self.settings = {name: manifest["settings"][name] for name in NEEDED}
            self.backbone, self.pooling = self.settings["backbone"], self.settings["pooling"]
            self._encoder = manifest["encoder"]
        except (KeyError, TypeError) as error:
            raise DataError(f"{folder / MANIFEST}: damaged ({error!r}); encode again") from None
        self.folder = folder

    def check_encoder(self, encoder: SentenceEncoder, name: str) -> None:
        """Raise CheckpointError unless this encoder made them, on any device, in any precision."""
        if self._encoder not in identities(encoder):
            raise CheckpointError(
                f"{self.folder}: made by another encoder than {name}, or with --max-length; index "
                "without --vectors"
            )

    def rows(self, path: Path, rows_before: int = 0) -> Iterator[tuple[int, StoredRow]]:
        """Yield (number of the row, text) of a file as they were encoded, with ids and vectors.

        Args:
            path: one of the files that were encoded.
            rows_before: added to the numbers.

        Raises:
            DataError: an unreadable file, or one that has changed since; damaged vectors.
            MachineError: a .parquet file without pyarrow.
        """
        source = Source(path, self.settings["column"], self.settings["id_column"])
        number = rows_before
        for which, texts in enumerate(source.shards(self.settings["shard_rows"])):
            digest = made_of(texts, self._encoder, self.settings)
            record = complete(self.folder, source.shard_name(which), digest)
            if record is None:
                raise DataError(
                    f"{self.folder}: no undamaged vectors of {path} as it is now (shard {which}); "
                    "run the command that made them again"
                )
            vectors = read_shard(self.folder / VECTORS / Path(record.file).name)
            for text, vector in zip(texts, vectors, strict=True):
                row = StoredRow(" ".join(text.id.split()), text.text)
                row.vector = vector
                number += 1
                yield number, row


def stored_vectors(rows: list[Row]) -> np.ndarray:
    """Return the vectors of stored rows scaled to length 1, (n, H) float32."""
    vectors = np.stack([row.vector for row in rows if isinstance(row, StoredRow)])
    vectors = vectors.astype(np.float32)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
