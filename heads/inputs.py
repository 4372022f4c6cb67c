"""Examples as a head's inputs: from frozen vectors on disk, or from a live encoder with gradient.

Both offer the same three things: `batch(rows)`, `batches()` over everything, and a length.
Legend: B rows, F feature size. Reads: cache, features. Feeds: train.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from data.examples import Sentence, SentencePair
from heads.cache import Item, frozen_vectors
from heads.features import bi_features, cross_features, embed_pairs
from minbert.encoder import SentenceEncoder
from minbert.packing import batches_by_tokens

Example = Sentence | SentencePair


def texts_of(example: Example) -> Item:
    """Return the one text or the two of an example."""
    if isinstance(example, Sentence):
        return (example.text,)
    return (example.text_a, example.text_b)


class FrozenInputs:
    """Features of examples whose encoder does not change; a head trains from them in seconds."""

    def __init__(self, vectors: np.ndarray, index: np.ndarray, features: str, device: torch.device):
        """Wrap frozen vectors.

        Args:
            vectors: (n, H) texts or (n, 3, H) pairs, memory-mapped.
            index: (N, 1 or 2) rows of `vectors` for each of the N examples.
            features: `interaction` or `concat`.
        """
        self.vectors, self.index, self.features = vectors, index, features
        self.device = device

    def __len__(self) -> int:
        return len(self.index)

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`."""
        parts = [self._read(column) for column in self.index[rows].T]
        if parts[0].ndim == 3:
            return cross_features(parts[0], self.features)
        return bi_features(parts[0], parts[1] if len(parts) == 2 else None, self.features)

    def batches(self) -> Iterator[np.ndarray]:
        """Yield the rows of all examples in order."""
        for start in range(0, len(self), 1024):
            yield np.arange(start, min(start + 1024, len(self)))

    def _read(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(self.vectors[rows]).to(self.device)


def frozen_inputs(
    encoder: SentenceEncoder,
    splits: Sequence[Sequence[Example]],
    kind: str,
    features: str,
    folder: Path,
    fingerprint: str,
    show_progress: bool | None = None,
) -> list[FrozenInputs]:
    """Encode the distinct texts (`kind="bi"`) or pairs (`"cross"`) of all splits, once.

    Returns:
        One FrozenInputs a split, all reading the same cached file.
    """
    items: dict[Item, int] = {}
    indices = []
    for examples in splits:
        rows = []
        for example in examples:
            texts = texts_of(example)
            keys = [texts] if kind == "cross" else [(text,) for text in texts]
            rows.append([items.setdefault(key, len(items)) for key in keys])
        indices.append(np.array(rows, dtype=np.int64))
    vectors = frozen_vectors(encoder, fingerprint, list(items), folder, show_progress)
    return [FrozenInputs(vectors, index, features, encoder.device) for index in indices]


class LiveInputs:
    """Features computed by the encoder as it is now, with gradient when it trains."""

    def __init__(
        self, encoder: SentenceEncoder, examples: Sequence[Example], kind: str, features: str
    ):
        self.encoder, self.kind, self.features = encoder, kind, features
        texts = [texts_of(example) for example in examples]
        self.num_texts = len(texts[0])
        firsts = [item[0] for item in texts]
        seconds = [item[1] for item in texts if len(item) == 2]
        if kind == "cross":
            self.sequences = encoder.tokenize(firsts, seconds)
        else:  # row i is text a of example i, row N + i its text b
            self.sequences = encoder.tokenize(firsts + seconds)
        self.rows = np.arange(len(self.sequences)).reshape(-1, len(examples)).T  # (N, 1 or 2)

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`, encoded together in one packed batch."""
        wanted = self.rows[rows].T.ravel()  # all first texts, then all second ones
        order = np.argsort(self.sequences.lengths[wanted], kind="stable")
        packed = self.sequences.pack(wanted[order])
        inverse = torch.from_numpy(np.argsort(order)).to(self.encoder.device)
        if self.kind == "cross":
            return cross_features(embed_pairs(self.encoder, packed)[inverse], self.features)
        vectors = self.encoder.embed(packed)[inverse]
        first, second = vectors[: len(rows)], vectors[len(rows) :]
        return bi_features(first, second if len(second) else None, self.features)

    def batches(self) -> Iterator[np.ndarray]:
        """Yield the rows of all examples in batches of as many tokens as encoding takes."""
        lengths = self.sequences.lengths[self.rows].sum(axis=1)
        yield from batches_by_tokens(lengths, self.encoder.batch_tokens)


Inputs = FrozenInputs | LiveInputs
