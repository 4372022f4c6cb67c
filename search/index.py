"""An index: texts with their vectors, in a folder that can grow.

    INDEX/meta.json             the encoder, the parts in order, their counts
    INDEX/parts/NAME/           up to 8,192 texts: vectors.npy, texts.tsv, offsets.npy, SHA256SUMS

A part's name is a hash of its encoder and texts. meta.json is written last: a query sees the index
before a command or after it, and an interrupted command finds the parts that it had finished.
Legend: N texts, n of a part, H hidden_size.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np

import minbert
from data.examples import DataError
from data.tables import decoded_lines, numbered_lines
from runtime.files import digest, file_digest, read_json, sealed_files

# Texts of a part: what an interruption costs at most, and the rows of a matrix product.
PART = 8192
FORMAT = 2  # since 2 an encoder's fingerprint has a format of its own
# What NumPy raises of a missing or damaged file.
UNREADABLE = (OSError, ValueError, EOFError, TokenError)
STDIN = Path("-")


class Row(NamedTuple):
    """A text and its id, neither with a line end; the id has no tab."""

    id: str
    text: str


@dataclass(frozen=True)
class Part:
    """A part as meta.json lists it."""

    name: str
    count: int


@dataclass(frozen=True)
class Meta:
    """What meta.json says.

    Attributes:
        backbone: the checkpoint's name or folder.
        pooling: that was asked for; None is what the checkpoint states.
        encoder: the encoder's identity, a SHA-256.
        hidden_size: H.
        last_line: the number of the last text's line; lines of files that are added count from it.
        parts: in order.
        version: of this project, when the index was last written.
    """

    backbone: str
    pooling: str | None
    encoder: str
    hidden_size: int
    last_line: int = 0
    parts: tuple[Part, ...] = ()
    version: str = minbert.__version__

    @property
    def count(self) -> int:
        """Return N."""
        return sum(part.count for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return the content of meta.json; count and digest follow from the parts."""
        derived = {"count": self.count, "digest": digest([part.name for part in self.parts])}
        return {"format": FORMAT, **derived, **asdict(self)}


def read_meta(folder: Path) -> Meta | None:
    """Return what the index in a folder says of itself, None where nothing is there yet.

    Raises:
        DataError: the folder holds something else, or a damaged index.
    """
    path = folder / "meta.json"
    if not path.is_file():
        if folder.exists() and (not folder.is_dir() or _has_other_files(folder)):
            raise DataError(f"{folder}: holds other files and no index; name another folder")
        return None
    try:
        raw = read_json(path)
        if raw.pop("format") != FORMAT:
            raise DataError(f"{path}: written by another version of this project; index again")
        count, parts = raw.pop("count"), tuple(Part(**part) for part in raw.pop("parts"))
        if raw.pop("digest") != digest([part.name for part in parts]):
            raise ValueError("its digest is another")
        if not all(part.name.isalnum() for part in parts):  # names of folders in parts/
            raise ValueError("a part's name is none")
        meta = Meta(**raw, parts=parts)
        if meta.count != count:
            raise ValueError("its counts differ")
        return meta
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: damaged ({error}); delete the folder and index again") from None


def _has_other_files(folder: Path) -> bool:
    """Return whether a folder holds more than parts, and hidden files that a crash may leave."""
    return any(path.name != "parts" and path.name[0] != "." for path in folder.iterdir())


class Index:
    """An index that is there, read through memory maps.

    Attributes:
        folder: where it is.
        meta: what it says of itself.
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
        self._starts = np.cumsum([0, *(part.count for part in meta.parts)])
        self._opened: dict[int, Texts] = {}  # by the number of the part

    def __len__(self) -> int:
        return self.meta.count

    @cached_property
    def blocks(self) -> list[np.ndarray]:
        """Return the parts' vectors in order, (n, H) float32 each, of length 1, memory-mapped.

        Raises:
            DataError: a part is missing or damaged.
        """
        return [read_vectors(self.folder, part, self.meta.hidden_size) for part in self.meta.parts]

    def rows(self, numbers: Iterable[int]) -> list[Row]:
        """Return the texts of these row numbers, with their ids.

        Raises:
            DataError: a part is missing or damaged.
        """
        rows = []
        for number in map(int, numbers):
            which = int(np.searchsorted(self._starts, number, side="right")) - 1
            if which not in self._opened:
                self._opened[which] = Texts(self.folder, self.meta.parts[which])
            rows.append(self._opened[which].row(number - int(self._starts[which])))
        return rows


class Texts:
    """The texts of a part, memory-mapped."""

    def __init__(self, folder: Path, part: Part):
        """Open them.

        Raises:
            DataError: they are missing or damaged.
        """
        path = part_folder(folder, part.name) / "texts.tsv"
        try:
            self.lines = np.memmap(path, np.uint8, mode="r")
            self.offsets = np.load(path.with_name("offsets.npy"), mmap_mode="r")
        except UNREADABLE as error:
            raise _damaged(path, error) from None
        if len(self.offsets) != part.count + 1 or self.offsets[-1] != len(self.lines):
            raise _damaged(path, f"{len(self.offsets) - 1} texts, {len(self.lines)} bytes")
        _check_unchanged(path)
        _check_unchanged(path.with_name("offsets.npy"))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, number: int) -> Row:
        """Return one text with its id."""
        line = bytes(self.lines[self.offsets[number] : self.offsets[number + 1]])
        id, _, text = line.decode().rstrip("\n").partition("\t")
        return Row(id, text)


def part_folder(folder: Path, name: str) -> Path:
    """Return where a part of an index is."""
    return folder / "parts" / name


def read_vectors(folder: Path, part: Part, hidden_size: int) -> np.ndarray:
    """Return a part's vectors (n, H), memory-mapped: "c" is what PyTorch takes without a warning.

    Raises:
        DataError: they are missing or damaged.
    """
    path = part_folder(folder, part.name) / "vectors.npy"
    try:
        vectors: np.ndarray = np.load(path, mmap_mode="c")
    except UNREADABLE as error:
        raise _damaged(path, error) from None
    if vectors.shape != (part.count, hidden_size) or vectors.dtype != np.float32:
        raise _damaged(path, f"{vectors.dtype} {vectors.shape}")
    _check_unchanged(path)
    return vectors


def _check_unchanged(path: Path) -> None:
    """Raise DataError if a file is not what its folder's list says; earlier versions wrote none."""
    listed = sealed_files(path.parent).get(path.name)
    if listed and listed != file_digest(path):
        raise _damaged(path, "its content has changed")


def _damaged(path: Path, error: object) -> DataError:
    return DataError(
        f"{path}: missing or damaged ({error}); delete {path.parent} and run the command that made "
        "the index again"
    )


def read_rows(
    path: Path, with_ids: bool = False, lines_before: int = 0
) -> Iterator[tuple[int, Row]]:
    """Yield (line number, text) of a file; texts are stripped, empty lines skipped, but counted.

    Args:
        path: a file with one text per line; "-" is stdin.
        with_ids: each line is `id<TAB>text`; else the line number is the id.
        lines_before: added to the line numbers.

    Raises:
        DataError: an unreadable file, a line that is not UTF-8, or one without id or text; at the
            end, no text at all.
    """
    name, found = _name(path), False
    for number, line in lines_of(path):
        counted = lines_before + number
        id, _, text = line.strip().partition("\t") if with_ids else (str(counted), "", line)
        if not line.strip():
            continue
        if not id.strip() or not text.strip():
            raise DataError(f"{name}:{number}: expected ID<TAB>TEXT; add ids, or leave out --ids")
        found = True
        yield counted, Row(id.strip(), text.strip())
    if not found:
        raise DataError(f"{name}: is empty; expected one text per line")


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line with its line end) of a file, or of stdin.

    Raises:
        DataError: an unreadable file, or a line that is not UTF-8.
    """
    if path != STDIN:
        yield from numbered_lines(path)
    elif sys.stdin is not None:  # a closed one has no lines
        yield from decoded_lines(sys.stdin.buffer, _name(path))


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)
