"""An index made, continued, or added to; only texts that are new to it are encoded.

Reads: texts, index. Feeds: the command line.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from data.examples import DataError
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.arrays import save_array
from runtime.digests import texts_digest
from runtime.files import sweep, whole_folder, write_text
from runtime.sealed import fault_of, seal_folder
from search.index import PART, Meta, Part, Texts, part_folder, read_meta, read_vectors
from search.texts import Row

# Texts of one call of the encoder, and of a step of the progress bar: with 1,024, encoding takes a
# fifth longer.
STEP = 4096
Numbered = Iterator[tuple[int, Row]]


def by_encoder(encoder: SentenceEncoder) -> Callable[[list[Row]], np.ndarray]:
    """Return what encodes rows."""

    def encode(rows: list[Row]) -> np.ndarray:
        texts = [row.text for row in rows]
        return np.asarray(encoder.encode(texts, show_progress=False, normalize_embeddings=True))

    return encode


@dataclass(frozen=True)
class Builder:
    """Writes parts of an index.

    Attributes:
        folder: of the index.
        made_by: what its meta.json says, before there are parts.
        encode: gives the vectors of new rows, (n, H) float32 of length 1.
        tick: called with a number of texts as they are done.
    """

    folder: Path
    made_by: Meta
    encode: Callable[[list[Row]], np.ndarray]
    tick: Callable[[int], Any] = lambda count: None

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
        self._check_encoder(old)
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

    def _check_encoder(self, old: Meta | None) -> None:
        if old and old.encoder != self.made_by.encoder:
            pooled = f" with --pooling {old.pooling}" if old.pooling else ""
            raise CheckpointError(
                f"{self.folder}: made by another encoder, {old.backbone}{pooled}, or its weights "
                "have changed; name another --out"
            )

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
