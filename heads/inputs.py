"""Examples as a head's inputs: from frozen embeddings on disk, or from a live encoder.

Both have the same interface: `batch(rows)`, `batches()` over everything, `columns()`, and a length.
Legend: B rows, N examples, F features, H hidden_size. Reads: cache, features. Feeds: training.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from data.examples import Example
from heads.cache import frozen_embeddings
from heads.features import Features, Item
from minbert.encoder import SentenceEncoder
from minbert.packing import batches_by_tokens


class FrozenInputs:
    """Features of examples whose encoder does not change; a head trains on them in seconds."""

    def __init__(
        self, embeddings: np.ndarray, index: np.ndarray, features: Features, device: torch.device
    ):
        """Wrap frozen embeddings.

        Args:
            embeddings: (n, H) of texts or (n, 3, H) of pairs, memory-mapped.
            index: (N, items per example) rows of `embeddings`.
            features: how they are combined.
            device: of the features.
        """
        self.embeddings, self.index, self.features = embeddings, index, features
        self.device = device

    def __len__(self) -> int:
        return len(self.index)

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`."""
        return self.features.combine([self._read(column) for column in self.index[rows].T])

    def batches(self) -> Iterator[np.ndarray]:
        """Yield the rows of all examples in order."""
        for start in range(0, len(self), 1024):
            yield np.arange(start, min(start + 1024, len(self)))

    def columns(self) -> list[np.ndarray]:
        """Return the embeddings of all first texts, all second ones, ...: (N, H) each."""
        return [np.asarray(self.embeddings[column]) for column in self.index.T]

    def reading(self) -> AbstractContextManager[Any]:
        """Return the context in which predictions are made."""
        return torch.inference_mode()

    def _read(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(self.embeddings[rows]).to(self.device)


def frozen_inputs(
    encoder: SentenceEncoder,
    fingerprint: str,
    splits: Sequence[Sequence[Example]],
    features: Features,
    folder: Path,
    show_progress: bool | None = None,
) -> list[FrozenInputs]:
    """Encode the distinct items of all splits, once.

    Returns:
        One FrozenInputs per split, all reading the same cached file.
    """
    numbers: dict[Item, int] = {}  # every distinct item, in the order of its first appearance
    # Texts that splits share are encoded once: an index (N, items) points into the embeddings.
    indices = []
    for examples in splits:
        rows = [
            [numbers.setdefault(item, len(numbers)) for item in features.items(example.texts)]
            for example in examples
        ]
        indices.append(np.array(rows, dtype=np.int64))
    embeddings = frozen_embeddings(
        encoder, fingerprint, features, list(numbers), folder, show_progress
    )
    return [FrozenInputs(embeddings, index, features, encoder.device) for index in indices]


class LiveInputs:
    """Features computed by the encoder as it is now, with gradient when it trains."""

    def __init__(self, encoder: SentenceEncoder, examples: Sequence[Example], features: Features):
        self.encoder, self.features = encoder, features
        # One column per item of an example: all first texts, then all second ones.
        self.items = list(zip(*(features.items(e.texts) for e in examples), strict=True))
        flat = [item for column in self.items for item in column]
        self.sequences = features.tokenize(encoder, flat)
        self.rows = np.arange(len(flat)).reshape(-1, len(examples)).T  # (N, items per example)

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`, encoded together in one packed batch."""
        wanted = self.rows[rows].T.ravel()
        # Equal lengths side by side, which attention needs to be fast; put back afterwards.
        order = np.argsort(self.sequences.lengths[wanted], kind="stable")
        inverse = torch.from_numpy(np.argsort(order)).to(self.encoder.device)
        packed = self.sequences.pack(wanted[order])
        embedded = self.features.embed(self.encoder, packed)[inverse]
        # Rows of all first items, then of all second ones, become the features (B, F).
        return self.features.combine(embedded.split(len(rows)))

    def batches(self) -> Iterator[np.ndarray]:
        """Yield the rows of all examples in batches of as many tokens as encoding takes."""
        lengths = self.sequences.lengths[self.rows].sum(axis=1)
        yield from batches_by_tokens(lengths, self.encoder.batch_tokens)

    def columns(self) -> list[np.ndarray]:
        """Return the embeddings of all first texts, all second ones, ...: (N, H) each."""
        return [self.encoder.encode_quietly([text for (text,) in c]) for c in self.items]

    def reading(self) -> AbstractContextManager[Any]:
        """Return the context in which predictions are made."""
        return self.encoder.reading(self.sequences)


Inputs = FrozenInputs | LiveInputs
