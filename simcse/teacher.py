"""The teacher of a distillation: a large encoder, and its embeddings of a file, computed once.

Legend: n sentences, D the teacher's hidden_size.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from data.sentences import iter_sentences
from minbert.encode.options import Options
from minbert.encode.shards import VECTORS, ShardEncoder, Text, read_vectors
from runtime.files import digest
from runtime.progress import progress

# Sentences that are embedded and written together: a stop loses no more.
PIECE = 8192


@dataclass(frozen=True)
class Teacher:
    """An encoder to learn from; it is loaded when its embeddings or its fingerprint are needed.

    Attributes:
        folder: its checkpoint.
        cache: the folder of embeddings that all runs share.
        device, precision: as of `SentenceEncoder.from_pretrained`; int8 reads fastest on a CPU.
    """

    folder: Path
    cache: Path
    device: str = "auto"
    precision: str = "auto"

    @cached_property
    def _encode(self) -> ShardEncoder:
        options = Options(
            files=(),
            out=self.cache / f"teacher-{digest([str(self.folder.resolve()), self.precision])[:8]}",
            backbone=str(self.folder),
            float16=True,
            normalize=True,
            format="npz",
            device=self.device,
            precision=self.precision,
        )
        return ShardEncoder(options)

    @property
    def hidden_size(self) -> int:
        """Return D."""
        return self._encode.encoder.model.config.hidden_size

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of what decides its embeddings."""
        return self._encode.fingerprint

    def embeddings(self, path: Path) -> np.ndarray:
        """Return the embeddings of a file's sentences, (n, D) float16 of length 1.

        They are computed once, in pieces: what an interrupted run has done is found again.

        Raises:
            DataError: the file is broken.
            OSError: the cache cannot be written.
        """
        sentences = (Text("", sentence) for sentence in iter_sentences(path))
        parts: list[np.ndarray] = []
        with progress("teacher", None, "sentence") as bar:
            while texts := list(islice(sentences, PIECE)):
                record = self._encode(f"{path.name}-{len(parts):05d}", texts)
                parts.append(read_vectors(self._encode.options.out / VECTORS / record.file))
                bar.update(record.rows)
        return np.concatenate(parts)
