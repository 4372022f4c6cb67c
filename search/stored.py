"""Vectors that are there already: a folder that `python -m minbert.encode` has filled.

It holds no texts, so these are read again from the files, and its records say whether a shard was
made of just these. Reads: minbert.encode, texts. Feeds: building, the command line.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from data.examples import DataError
from minbert.config import CheckpointError
from minbert.encode.folder import MANIFEST
from minbert.encode.shards import VECTORS, complete, made_of, read_vectors
from minbert.encode.texts import Source
from minbert.encoder import SentenceEncoder
from runtime.json_file import read_object
from search.opening import identities
from search.texts import Row

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
        try:
            self.settings = {name: manifest["settings"][name] for name in NEEDED}
            self.backbone, self.pooling = self.settings["backbone"], self.settings["pooling"]
            self._version, self._encoder = manifest["version"], manifest["encoder"]
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
            digest = made_of(texts, self._encoder, self.settings, self._version)
            record = complete(self.folder, source.shard_name(which), digest)
            if record is None:
                raise DataError(
                    f"{self.folder}: no undamaged vectors of {path} as it is now (shard {which}); "
                    "run the command that made them again"
                )
            vectors = read_vectors(self.folder / VECTORS / Path(record.file).name)
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
