"""Gradient caching: batches larger than memory, with the gradients of the whole batch.

Gao, Zhang, Han and Callan 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited
Setup", section 3. A contrastive loss needs all embeddings of a batch at once, but not the
activations behind them: the batch is cut into chunks that are encoded one at a time.

Legend: n sequences, H hidden_size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from minbert.packing import PackedBatch, TokenSequences, batches_by_tokens
from runtime.training import random_state, restore_random_state


@dataclass(frozen=True)
class Chunk:
    """Sequences that are encoded together."""

    batch: PackedBatch
    first: bool  # of the first view, if that has a separate encoder

    def __len__(self) -> int:
        return len(self.batch)


def cut(
    sequences: TokenSequences, rows: np.ndarray, num_first: int, chunk_tokens: int | None
) -> tuple[list[Chunk], np.ndarray]:
    """Pack `rows` of the sequences, longest first; return the chunks, and that order of `rows`.

    Sorted by length, equal lengths are neighbours, which attention needs to be fast. The first
    `num_first` rows have a separate encoder; no chunk holds rows of two encoders.
    """
    lengths = sequences.lengths[rows]
    budget = chunk_tokens or int(lengths.sum())
    chunks, order = [], []
    for first, block in enumerate(np.split(np.arange(len(rows)), [num_first])[::-1]):
        for part in batches_by_tokens(lengths[block], budget):
            order.append(block[part])
            chunks.append(Chunk(sequences.pack(rows[block[part]]), bool(first)))
    return chunks, np.concatenate(order)


def backward(
    embed: Callable[[Chunk], Tensor],
    chunks: Sequence[Chunk],
    objective: Callable[[Tensor], tuple[Tensor, Tensor]],
    at_once: bool = False,
) -> tuple[Tensor, Tensor]:
    """Add the gradients of an objective on the embeddings of all chunks to `embed`'s parameters.

    One chunk is the usual forward and backward pass. More are encoded twice: first without
    activations, to get the embeddings and the loss's gradient with respect to them; then again,
    chunk by chunk with the same random numbers, to backpropagate that gradient. This is a third
    more computation, in the memory of one chunk.

    Args:
        embed: chunk of n sequences -> (n, H).
        chunks: one or more.
        objective: all embeddings, in the order of the chunks -> a scalar loss, and another number.
        at_once: all chunks fit into memory together; they are separate for another reason.

    Returns:
        The loss without gradient, and the other number.
    """
    if at_once or len(chunks) == 1:
        loss, other = objective(torch.cat([embed(chunk) for chunk in chunks]))
        loss.backward()
        return loss.detach(), other
    # First pass: only the embeddings. The generators' states are kept to repeat the dropout.
    states, parts = [], []
    with torch.no_grad():
        for chunk in chunks:
            states.append(random_state())
            parts.append(embed(chunk))
    # The loss depends on the parameters through the embeddings only: with e the embeddings and w
    # the parameters, dL/dw = dL/de de/dw. Here dL/de, of all at once ...
    embeddings = torch.cat(parts).requires_grad_()  # (sum of n, H)
    loss, other = objective(embeddings)
    loss.backward()
    assert embeddings.grad is not None
    gradients = embeddings.grad.split([len(chunk) for chunk in chunks])
    # ... and below de/dw, chunk by chunk: gradients add up in the parameters.
    for chunk, state, gradient in zip(chunks, states, gradients, strict=True):
        restore_random_state(state)
        embed(chunk).backward(gradient)
    return loss.detach(), other
