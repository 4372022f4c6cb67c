"""The teacher of a distillation: a large encoder, and its embeddings of a file, computed once.

Legend: n sentences, D the dimensions of the teacher's embeddings.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from data.sentences import iter_sentences
from minbert.encoder import SentenceEncoder
from runtime.files import save_array, texts_digest
from runtime.progress import progress
from runtime.store import Work, kept

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
    def encoder(self) -> SentenceEncoder:
        return SentenceEncoder.from_pretrained(
            str(self.folder), device=self.device, precision=self.precision
        )

    @property
    def embedding_size(self) -> int:
        return self.encoder.embedding_size  # D

    @cached_property
    def fingerprint(self) -> str:
        return self.encoder.fingerprint()

    def embeddings(self, path: Path) -> np.ndarray:
        """Return the embeddings of a file's sentences, (n, D) float16 of length 1.

        They are computed once, in pieces: the pieces of an interrupted run are found again.
        """
        sentences = iter_sentences(path)
        pieces: list[np.ndarray] = []
        with progress("teacher", None, "sentence") as bar:
            while piece := list(islice(sentences, PIECE)):
                pieces.append(self._embedded(piece))
                bar.update(len(piece))
        return np.concatenate(pieces)

    def _embedded(self, sentences: list[str]) -> np.ndarray:
        def make(work: Work) -> None:
            embeddings = self.encoder.encode(
                sentences, show_progress=False, normalize_embeddings=True
            )
            save_array(work.folder / "embeddings.npy", embeddings.astype(np.float16))

        made_of = {"teacher": self.fingerprint, "texts": texts_digest("teacher", sentences)}
        folder = kept("embeddings", made_of, make, self.cache, name="teacher")
        return np.asarray(np.load(folder / "embeddings.npy"))
