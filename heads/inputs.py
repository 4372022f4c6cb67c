"""Examples as a head's inputs: from frozen embeddings on disk, or from a live encoder.

Both have the same interface: `batch(rows)`, `batches()` over everything, `columns()`, and a length.

A frozen encoder reads each distinct text (or pair) only once. Its embeddings are kept on disk
(`runtime.store`) and read through a memory map.

Legend: B rows, N examples, n items, F features, H numbers per vector of an item (see features).
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from data.examples import Example
from data.tasks import Task
from heads.features import Features, Item
from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch, TokenSequences, batches_by_tokens
from runtime.files import texts_digest
from runtime.store import Work, kept

EMBEDDINGS = "embeddings.npy"


@dataclass(frozen=True, eq=False)
class FrozenInputs:
    """Features of examples whose encoder does not change; a head trains on them in seconds."""

    embeddings: np.ndarray  # (n, *parts, H) of items, memory-mapped
    index: np.ndarray  # (N, items per example) rows of `embeddings`
    features: Features
    device: torch.device  # of the features
    cls: np.ndarray | None = None  # (n, H), the states of [CLS] of the same texts, if kept

    def __len__(self) -> int:
        return len(self.index)

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`."""
        columns = self.index[rows].T  # (items per example, B)
        # Only these rows are read from disk, (B, *parts, H) per column.
        return self.features.combine(
            [torch.from_numpy(self.embeddings[column]).to(self.device) for column in columns]
        )

    def batches(self) -> Iterator[np.ndarray]:
        """Yield the rows of all examples in order."""
        # Nothing is encoded here, so the batch size hardly matters.
        yield from np.split(np.arange(len(self)), range(1024, len(self), 1024))

    def columns(self) -> list[np.ndarray]:
        """Return the embeddings of all first items, all second ones, ...: (N, *parts, H) each."""
        return [np.asarray(self.embeddings[column]) for column in self.index.T]

    def reading(self) -> AbstractContextManager[Any]:
        return torch.inference_mode()


class LiveInputs:
    """Features computed by the current encoder, with gradient in training."""

    def __init__(self, encoder: SentenceEncoder, examples: Sequence[Example], features: Features):
        self.encoder, self.features = encoder, features
        # One column per item of an example: all first texts, then all second ones.
        columns = zip(*(features.items(e.texts) for e in examples), strict=True)
        # Tokenized once; a batch is packed from token ids in every epoch.
        flat = [item for column in columns for item in column]
        self.sequences = features.tokenize(encoder, flat)
        self.rows = np.arange(len(flat)).reshape(-1, len(examples)).T  # (N, items per example)

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`, encoded together in one packed batch."""
        wanted = self.rows[rows].T.ravel()
        # Sorted by length, which makes attention fast; the order is restored afterwards.
        order = np.argsort(self.sequences.lengths[wanted], kind="stable")
        inverse = torch.from_numpy(np.argsort(order)).to(self.encoder.device)
        packed = self.sequences.pack(wanted[order])
        embeddings = self.features.embed(self.encoder, packed)[inverse]
        # Rows of all first items, then of all second ones, become the features (B, F).
        return self.features.combine(embeddings.split(len(rows)))

    def batches(self) -> Iterator[np.ndarray]:
        """Yield the rows of all examples in batches of the size used for encoding."""
        lengths = self.sequences.lengths[self.rows].sum(axis=1)
        yield from batches_by_tokens(lengths, self.encoder.batch_tokens)

    def columns(self) -> list[np.ndarray]:
        """Return the embeddings of all first items, all second ones, ...: (N, *parts, H) each."""
        embeddings = embedded(self.encoder, self.features, self.sequences)
        return np.split(embeddings, self.rows.shape[1])

    def reading(self) -> AbstractContextManager[Any]:
        return self.encoder.reading(self.sequences)


HeadInputs = FrozenInputs | LiveInputs


def embedded(encoder: SentenceEncoder, features: Features, sequences: TokenSequences) -> np.ndarray:
    """Return the embeddings of tokenized items, (n, *parts, H) float32, without gradient."""
    shape = (len(sequences), *features.parts, features.size(encoder))
    embeddings = np.empty(shape, np.float32)
    encoder.embed_all(sequences, embeddings, partial(features.embed, encoder))
    return embeddings


def inputs_of(
    encoder: SentenceEncoder,
    named: Mapping[str, Sequence[Example]],
    features: Features,
    tune: str,
    cache: Path,
    *,
    fingerprint: str | None = None,
    beside_cls: bool = False,
) -> dict[str, HeadInputs]:
    """Return the inputs of every split by its name.

    Args:
        encoder: frozen here if `tune` is `frozen`.
        named: split -> its examples.
        features: how an example is read.
        tune: of `heads.config.TUNES`.
        cache: the folder of frozen embeddings.
        fingerprint: of the encoder, if already known.
        beside_cls: also store the [CLS] states of frozen texts; see `cls_is_of_interest`.
    """
    # An encoder that is trained reads its texts again in every epoch; a published one reads once.
    if tune != "frozen":
        return {name: LiveInputs(encoder, rows, features) for name, rows in named.items()}
    encoder.freeze()
    numbers: dict[Item, int] = {}  # every distinct item, in the order of its first appearance
    # Texts that splits share are encoded once: an index (N, items) points into the embeddings.
    indices = {}
    for name, examples in named.items():
        rows = [
            [numbers.setdefault(item, len(numbers)) for item in features.items(example.texts)]
            for example in examples
        ]
        indices[name] = np.array(rows, dtype=np.int64)
    fingerprint = fingerprint or encoder.fingerprint()
    cls, items = None, list(numbers)
    embeddings = frozen_embeddings(encoder, fingerprint, features, items, cache, beside_cls)
    if beside_cls:
        embeddings, cls = embeddings[:, 0], embeddings[:, 1]  # (n, H) each
    return {
        name: FrozenInputs(embeddings, index, features, encoder.device, cls)
        for name, index in indices.items()
    }


def cls_is_of_interest(encoder: SentenceEncoder, task: Task, reader: str) -> bool:
    """Return whether a run also reports the cosine of the [CLS] states.

    SimCSE's paper uses [CLS]. The mean of all tokens orders sentences well even before contrastive
    tuning, so [CLS] shows the effect of tuning better.
    """
    return encoder.averages and reader == "bi" and task.is_pair and task.label_kind == "score"


def frozen_embeddings(
    encoder: SentenceEncoder,
    fingerprint: str,
    features: Features,
    items: list[Item],
    folder: Path,
    beside_cls: bool = False,
) -> np.ndarray:
    """Return the frozen embeddings of distinct items, from the cache if they are there.

    The encoder is frozen; its `fingerprint()` takes a moment and is therefore passed in.

    Returns:
        Memory-mapped float32, (n, *parts, H) of n items; with `beside_cls`, (n, 2, H), each
        embedding followed by the state of [CLS].
    """
    embed: Callable[[PackedBatch], Tensor] = partial(features.embed, encoder)
    parts = features.parts
    if beside_cls:
        # One forward pass gives both.
        embed, parts = encoder.embed_beside_cls, (2,)

    def make(work: Work) -> None:
        sequences = features.tokenize(encoder, items)
        # (n, *parts, H), written batch by batch: there may be more than memory holds.
        shape = (len(items), *parts, features.size(encoder))
        path = work.folder / EMBEDDINGS
        into = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a crash later
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        label = "encode pairs" if features.parts else "encode texts"
        encoder.embed_all(sequences, into, embed, label=label, show_progress=None)
        into.flush()

    made_of = {
        "encoder": fingerprint,
        "read as": features.cached,
        "beside [CLS]": beside_cls,
        # Each item is one text or two, as all of them are.
        "texts": texts_digest(str(len(items)), chain(*items)),
    }
    path = kept("embeddings", made_of, make, folder) / EMBEDDINGS
    return np.asanyarray(np.load(path, mmap_mode="r"))
