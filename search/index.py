"""An index: texts with their vectors, in a folder that can be extended.

    INDEX/meta.json            the encoder, the parts in order, their counts
    INDEX/parts/NUMBER-KEY/    16,384 texts, of the last part fewer: vectors.npy, texts.tsv and
                               offsets.npy, kept by `runtime.store`

meta.json is written last: a query reads the index from before or after a command, and an
interrupted command is continued from the parts that it had finished.
Legend: N texts, n of a part, H dimensions of an embedding.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minbert
from data.columns import ID, TEXT, Column
from data.examples import DataError
from data.tables import decoded_lines, numbered_lines, open_texts
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.files import (
    digest,
    fault_of_sealed,
    read_object,
    save_array,
    sweep,
    texts_digest,
    write_text,
)
from runtime.progress import progress
from runtime.store import FORMATS, Work, kept
from search.encoders import identity, open_encoder
from search.options import IndexOptions

# Texts of a part: the most that an interruption can cost, and the rows of a matrix product.
PART = 16_384
# Texts per call of the encoder and per step of the progress bar; 1,024 would make encoding a fifth
# slower.
STEP = 4096
META, PARTS = "meta.json", "parts"
STDIN = Path("-")


class Row(NamedTuple):
    """A text and its id, neither with a line end; the id has no tab."""

    id: str
    text: str


Numbered = Iterator[tuple[int, Row]]  # line number and row


@dataclass(frozen=True)
class Part:
    """A part as meta.json lists it."""

    folder: str  # its name in INDEX/parts
    count: int  # n
    texts: str  # SHA-256 of its ids and texts


@dataclass(frozen=True)
class Meta:
    """The content of meta.json."""

    backbone: str  # the checkpoint's name or folder
    pooling: str | None  # the chosen pooling; None: the one that the checkpoint states
    encoder: str  # the encoder's identity, a SHA-256
    hidden_size: int
    last_line: int = 0  # of the last text; lines of added files are counted from it
    parts: tuple[Part, ...] = ()  # in order; all but the last are full
    version: str = minbert.__version__  # when the index was last written

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    def write(self, folder: Path) -> None:
        """Write meta.json, with a digest of its content."""
        content = {"format": FORMATS["index part"], "count": self.count, **asdict(self)}
        content["digest"] = digest(content)
        write_text(folder / META, json.dumps(content, indent=1) + "\n")


def read_meta(folder: Path) -> Meta | None:
    """Return the content of an index's meta.json, None for a new or empty folder.

    Raises:
        DataError: the folder holds something else, or a damaged index.
    """
    path = folder / META
    if not path.is_file():
        # A crash may leave hidden files.
        inside = folder.iterdir() if folder.is_dir() else ()
        others = any(path.name != PARTS and path.name[0] != "." for path in inside)
        if others or (folder.exists() and not folder.is_dir()):
            raise DataError(f"{folder}: holds other files and no index; name another folder")
        return None
    try:
        content = read_object(path, DataError)
    except DataError as error:
        raise DataError(f"{error}; delete the folder and index again") from None
    if content.get("format") != FORMATS["index part"]:
        raise DataError(
            f"{path}: written by another version of this project; delete the folder and index again"
        )
    try:
        stated = content.pop("digest")
        if stated != digest(content):
            raise ValueError("its digest differs")
        del content["format"], content["count"]
        parts = tuple(Part(**part) for part in content.pop("parts"))
        if any(Path(part.folder).name != part.folder for part in parts):  # folders in parts/
            raise ValueError("a part has an invalid name")
        return Meta(**content, parts=parts)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: damaged ({error}); delete the folder and index again") from None


# --- read


class Index:
    """An existing index, read through memory maps.

    `blocks` are the parts' vectors in order, (n, H) float32 each, of length 1.
    """

    def __init__(self, folder: Path):
        """Open an index.

        Raises:
            DataError: there is none, or it is damaged.
        """
        meta = read_meta(folder)
        if meta is None:
            raise DataError(
                f"{folder}: no index; make it with: python -m search index FILE --out {folder}"
            )
        self.folder, self.meta = folder, meta
        self._parts = [OpenPart(folder / PARTS / part.folder) for part in meta.parts]
        self._starts = np.cumsum([0, *map(len, self._parts)])
        self.blocks = [part.vectors for part in self._parts]

    def __len__(self) -> int:
        return self.meta.count

    def rows(self, numbers: Iterable[int]) -> list[Row]:
        """Return the texts of these row numbers, with their ids."""
        rows = []
        for number in map(int, numbers):
            which = int(np.searchsorted(self._starts, number, side="right")) - 1
            rows.append(self._parts[which].row(number - int(self._starts[which])))
        return rows

    def encoder(self, device: str, precision: str) -> SentenceEncoder:
        """Return the encoder that made the index.

        Raises:
            CheckpointError: it is not found, or has changed.
        """
        meta = self.meta
        encoder = open_encoder(meta.backbone, meta.pooling, device, precision)
        if identity(encoder) != meta.encoder:
            raise CheckpointError(
                f"{meta.backbone}: not the encoder that built {self.folder}, its files have "
                "changed; index again"
            )
        return encoder


class OpenPart:
    """A part, memory-mapped: texts, and `vectors` (n, H) float32, of length 1."""

    def __init__(self, folder: Path):
        """Open a part.

        Raises:
            DataError: it is missing or damaged.
        """
        if fault := fault_of_sealed(folder):
            raise DataError(
                f"{folder}: damaged ({fault}); delete it and run the command that made the index "
                "again"
            )
        # PyTorch accepts mode "c" without a warning.
        self.vectors: np.ndarray = np.load(folder / "vectors.npy", mmap_mode="c")
        self._lines = np.memmap(folder / "texts.tsv", np.uint8, mode="r")
        self._offsets = np.load(folder / "offsets.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self.vectors)

    def row(self, number: int) -> Row:
        """Return one text with its id."""
        line = bytes(self._lines[self._offsets[number] : self._offsets[number + 1]])
        id, _, text = line.decode().rstrip("\n").partition("\t")
        return Row(id, text)


# --- made and extended


def make_index(options: IndexOptions) -> None:
    """Make, continue or extend an index.

    Raises:
        UserError: a file or model in the options cannot be used; the message is one line.
        OSError: the index cannot be written.
    """
    old = read_meta(options.out)
    if options.file != STDIN and (options.file.is_file() or not options.file.exists()):
        next(lines_of(options.file), None)  # raises before an encoder is loaded; not for pipes
    name = options.backbone or (old.backbone if old else "mini-sts")
    pooling = options.pooling or (old.pooling if old else None)
    encoder = open_encoder(name, pooling, options.device, options.precision)
    if Path(name).expanduser().is_dir():
        name = str(Path(name).expanduser().resolve())  # a query may come from another folder
    made_by = Meta(name, pooling, identity(encoder), encoder.embedding_size)
    lines_before = old.last_line if old and options.append else 0
    rows = read_rows(options.file, options.ids, lines_before)
    with progress("index", _num_lines(options.file), "text") as bar:
        meta = Builder(options.out, made_by, encoder, bar.update).index(rows, options.append)
    new = meta.count - (old.count if old else 0)
    print(
        f"{meta.count:,} texts, {new:,} of them new, {meta.hidden_size} dimensions: {options.out}"
    )


def _num_lines(path: Path) -> int | None:
    """Return the number of lines in a file, for the progress bar; None for a pipe."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        blocks = iter(partial(file.read, 2**20), b"")  # a line may be as long as the file
        return sum(block.count(b"\n") for block in blocks)


class Builder:
    """Writes parts of an index; encodes only new texts."""

    def __init__(
        self,
        folder: Path,
        made_by: Meta,
        encoder: SentenceEncoder,
        tick: Callable[[int], Any] = lambda count: None,
    ):
        """Prepare; nothing is written yet.

        `made_by` is the content of meta.json without parts; `tick` is called with the number of
        finished texts.
        """
        self.folder, self.made_by, self.encoder, self.tick = folder, made_by, encoder, tick

    def index(self, rows: Numbered, append: bool = False) -> Meta:
        """Write or extend the index with `rows`; return the new content of meta.json.

        Without `append`, the index must hold the first of `rows`: an interrupted command is
        continued, and new lines of the file are added.

        Raises:
            DataError: the index holds other texts, or changed meanwhile.
            CheckpointError: another encoder made it, or this one gives no finite vectors.
            UserError: a part is damaged.
        """
        sweep(self.folder)
        old = read_meta(self.folder)
        if old and old.encoder != self.made_by.encoder:
            pooled = f" with --pooling {old.pooling}" if old.pooling else ""
            raise CheckpointError(
                f"{self.folder}: built by another encoder, {old.backbone}{pooled}, or its weights "
                "have changed; name another --out"
            )
        parts = list(old.parts) if old else []
        last_line = old.last_line if old else 0
        if not append:
            self._check_begins(rows, parts)
        # An incomplete last part is replaced by one with more texts, so the parts do not depend on
        # the number of commands that added them.
        tail = parts.pop() if parts and parts[-1].count < PART else None
        while chunk := list(islice(rows, PART - (tail.count if tail else 0))):
            parts.append(self._write(len(parts), [row for _, row in chunk], tail))
            last_line, tail = chunk[-1][0], None
        if tail:
            parts.append(tail)
        if old and old.parts == tuple(parts):
            return old
        if read_meta(self.folder) != old:
            raise DataError(
                f"{self.folder}: changed during this command; run the same command again"
            )
        meta = replace(self.made_by, last_line=last_line, parts=tuple(parts))
        meta.write(self.folder)
        for part in set(old.parts if old else ()) - set(parts):
            shutil.rmtree(self.folder / PARTS / part.folder, ignore_errors=True)
        return meta

    def _check_begins(self, rows: Numbered, parts: list[Part]) -> None:
        """Skip the texts of `rows` that the index holds; make lost parts again."""
        for number, part in enumerate(parts):
            part_rows = [row for _, row in islice(rows, part.count)]
            if _digest(part_rows) != part.texts:
                raise DataError(
                    f"{self.folder}: holds other texts; add to them with --append, or name "
                    "another --out"
                )
            self._write(number, part_rows)

    def _write(self, number: int, new_rows: list[Row], tail: Part | None = None) -> Part:
        """Return the part with the texts of `tail` and the new ones; make it unless it exists."""
        held = OpenPart(self.folder / PARTS / tail.folder) if tail else None
        held_rows = [held.row(place) for place in range(len(held))] if held else []
        rows = [*held_rows, *new_rows]

        def make(work: Work) -> None:
            vectors = [held.vectors] if held else []
            for start in range(0, len(new_rows), STEP):
                vectors.append(self._encode(new_rows[start : start + STEP]))
            lines = [f"{row.id}\t{row.text}\n".encode() for row in rows]
            save_array(work.folder / "vectors.npy", np.concatenate(vectors))
            save_array(work.folder / "offsets.npy", np.cumsum([0, *map(len, lines)]))
            (work.folder / "texts.tsv").write_bytes(b"".join(lines))

        made_of = {"encoder": self.made_by.encoder, "texts": _digest(rows)}
        folder = kept("index part", made_of, make, self.folder / PARTS, name=f"{number:05d}")
        self.tick(len(new_rows))
        return Part(folder.name, len(rows), made_of["texts"])

    def _encode(self, rows: list[Row]) -> np.ndarray:
        """Return (n, H) float32 of length 1."""
        texts = [row.text for row in rows]
        vectors = self.encoder.encode_document(
            texts, show_progress=False, normalize_embeddings=True
        )
        if not np.isfinite(vectors).all():
            raise CheckpointError(f"{self.made_by.backbone}: gives vectors that are not finite")
        return np.asarray(vectors)


def _digest(rows: list[Row]) -> str:
    return texts_digest("", chain.from_iterable(rows))


# --- files of texts


def read_rows(path: Path, with_ids: bool = False, lines_before: int = 0) -> Numbered:
    """Yield (line number, text) of a file, or of stdin; texts are stripped, empty lines skipped.

    With `with_ids` each line is `id<TAB>text`; else the line number is the id. Empty lines count,
    and so do `lines_before`. JSON lines and tables with a header may have a column of ids.

    Raises:
        DataError: an unreadable file, a line that is not UTF-8, or one without id or text; at the
            end, no text at all.
    """
    name = _name(path)
    columns = (Column("text", TEXT), Column("id", ID, required=False, kind="id"))
    hint = "; lines of id and text need --ids"
    table = open_texts(name, columns, lines=lines_of(path), tabs=with_ids, hint=hint)
    if with_ids and table.delimiter and "id" not in table.places:
        found = ", ".join(table.header or ())
        raise DataError(
            f"{name}: --ids needs a column named id, found {found}; rename it, or leave out --ids"
        )
    for number, row in table.rows():
        counted, text = lines_before + number, row["text"].strip()
        id = row.get("id", str(counted)).strip()
        if not table.delimiter:
            if not text:
                continue
            if with_ids:
                id, _, text = row["text"].strip().partition("\t")
            else:
                id = str(counted)
        if not id.strip() or not text.strip() or "\t" in id:
            problem = "a row lacks id or text" if table.delimiter else "expected ID<TAB>TEXT"
            raise DataError(f"{name}:{number}: {problem}; add ids, or leave out --ids")
        yield counted, Row(id.strip(), text.strip())


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line with its line end) of a file, or of stdin.

    Raises:
        DataError: an unreadable file, or a line that is not UTF-8.
    """
    if path != STDIN:
        yield from numbered_lines(path)
    elif sys.stdin is not None:  # a closed stdin has no lines
        yield from decoded_lines(sys.stdin.buffer, _name(path))


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)
