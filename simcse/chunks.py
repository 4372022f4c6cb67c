"""A batch cut into pieces that are encoded one at a time. Reads: views. Feeds: train."""

from dataclasses import dataclass

import numpy as np

from minbert.packing import PackedBatch, TokenSequences, batches_by_tokens


@dataclass(frozen=True)
class Chunk:
    """Sequences that are encoded together."""

    batch: PackedBatch
    first: bool  # of the first view, where that has an encoder of its own

    def __len__(self) -> int:
        return len(self.batch)


def cut(
    sequences: TokenSequences, rows: np.ndarray, num_first: int, chunk_tokens: int | None
) -> tuple[list[Chunk], np.ndarray]:
    """Pack `rows` of the sequences, longest first; return the chunks, and that order of `rows`.

    Sorted by length, equal lengths are neighbours, which attention needs to be fast.

    Args:
        sequences: of the training data.
        rows: those of a batch.
        num_first: how many of the rows, from the first on, have an encoder of their own.
        chunk_tokens: the most tokens of a chunk; None makes one chunk for each encoder.
    """
    lengths = sequences.lengths[rows]
    budget = chunk_tokens or int(lengths.sum())
    chunks, order = [], []
    # No chunk holds rows of two encoders.
    for first, block in enumerate(np.split(np.arange(len(rows)), [num_first])[::-1]):
        for part in batches_by_tokens(lengths[block], budget):
            order.append(block[part])
            chunks.append(Chunk(sequences.pack(rows[block[part]]), bool(first)))
    return chunks, np.concatenate(order)
