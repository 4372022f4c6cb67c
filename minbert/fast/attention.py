"""Attention over packed sequences, for CPUs (grouped by length) and GPUs (variable-length kernel).

Legend: B sequences, T tokens of one sequence, N heads, D head size, n sequences of equal length.
All forms compute what `minbert.attention.attention` does. Feeds: switch.
"""

import math
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.fast.buckets import attention_in_buckets
from minbert.fast.dropout import dropout
from minbert.fast.linear import Keeper
from minbert.fast.products import product, trains_in_bfloat16
from minbert.model import BertSelfAttention
from minbert.packing import PackedBatch

# PyTorch's softmax of bfloat16 reads 32 numbers at a time, and takes up to six times as long for
# shorter rows.
SOFTMAX_ROW = 32


class SelfAttention(Keeper, BertSelfAttention):
    """Self-attention that chooses the form of attention for its device."""

    def kept_layers(self) -> tuple[nn.Linear, ...]:
        """Return the layers of queries, keys and values, one product where weights are kept."""
        return self.query, self.key, self.value

    def forward(self, hidden_states: Tensor, batch: PackedBatch) -> Tensor:
        """Return the contexts of all heads side by side, (total_tokens, H)."""
        if self.kept is not None and not self.training:
            joint = self.kept(hidden_states)  # (total_tokens, 3H)
            joint = joint.unflatten(-1, (3, *self.head_shape))
            return attention_by_run(joint, batch.lengths).flatten(-2)
        if not trains_in_bfloat16(self, hidden_states):
            return super().forward(hidden_states, batch)
        # One product for queries, keys and values, from states that are cast to bfloat16 once ...
        scale = 1 / math.sqrt(self.head_shape[1])
        weights = [self.query.weight * scale, self.key.weight, self.value.weight]
        # ... with the division by sqrt(D) moved from the scores to the queries' small matrix.
        biases = [self.query.bias * scale, self.key.bias, self.value.bias]
        joint = product(hidden_states, torch.cat(weights), torch.cat(biases))  # (total_tokens, 3H)
        joint = joint.unflatten(-1, (3, *self.head_shape))
        return attention_in_buckets(joint, batch.lengths, self.dropout.p).flatten(-2)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, batch: PackedBatch) -> Tensor:
        """Return the context of every token, (total_tokens, N, D)."""
        # The kernels apply dropout themselves and take the rate, not the module.
        dropout_prob = self.dropout.p if self.training else 0.0
        if query.is_cuda:
            return attention_varlen(query, key, value, batch, dropout_prob)
        return attention_by_length(query, key, value, batch.lengths, dropout_prob)


def attention_by_length(
    query: Tensor, key: Tensor, value: Tensor, lengths: tuple[int, ...], dropout_prob: float = 0.0
) -> Tensor:
    """Return attention over runs of neighbouring sequences of equal length, one product per run.

    Callers sort their batches by length, so that runs are long; unsorted batches are only slower.

    Args:
        query, key, value: (total_tokens, N, D).
        lengths: of the B sequences.
        dropout_prob: dropout on the attention probabilities.

    Returns:
        (total_tokens, N, D).
    """
    # On CPUs the fused kernel is faster only forward and in float32; else plain products are.
    trains = dropout_prob > 0 or (torch.is_grad_enabled() and query.requires_grad)
    plain = trains or query.dtype != torch.float32
    attend = _attend if plain else F.scaled_dot_product_attention
    runs = _runs(lengths)
    # Split, not sliced: the gradient of a slice is as large as the whole, for every single run.
    pieces = (x.split([length * n for length, n in runs]) for x in (query, key, value))
    contexts = []
    for (length, _), *piece in zip(runs, *pieces, strict=True):
        # Sequences of equal length end to end are a tensor already: a view, no copy.
        shape = (-1, length, *query.shape[1:])
        q, k, v = (x.view(shape).transpose(1, 2) for x in piece)  # (n, N, T, D) each
        context = attend(q, k, v, dropout_p=dropout_prob)  # (n, N, T, D)
        contexts.append(context.transpose(1, 2).flatten(0, 1))  # (n * T, N, D)
    return torch.cat(contexts)  # (total_tokens, N, D)


def attention_by_run(joint: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """Return attention as `attention_by_length` does, for encoding: bfloat16, without gradient.

    Args:
        joint: queries, keys and values side by side, (total_tokens, 3, N, D).
        lengths: of the B sequences.

    Returns:
        (total_tokens, N, D).
    """
    contexts = joint.new_empty(joint[:, 0].shape)
    start = 0
    for length, n in _runs(lengths):
        rows = slice(start, start := start + length * n)
        # Heads first, queries, keys and values in a single copy: (n * N, T, D) each.
        q, k, v = joint[rows].unflatten(0, (n, length)).permute(2, 0, 3, 1, 4).flatten(1, 2)
        scores = torch.bmm(q, k.transpose(1, 2)).mul_(1 / math.sqrt(q.shape[-1]))
        # What is added weighs exp(-inf) = 0.
        scores = F.pad(scores, (0, -length % SOFTMAX_ROW), value=-math.inf)
        probs = scores.softmax(dim=-1)[..., :length]  # (n * N, T, T)
        context = torch.bmm(probs, v).unflatten(0, (n, -1))  # (n, N, T, D)
        contexts[rows].unflatten(0, (n, length)).copy_(context.transpose(1, 2))
    return contexts


def _runs(lengths: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the runs of equal lengths: 7 7 5 5 5 are (7, 2), (5, 3)."""
    return [(length, len(list(run))) for length, run in groupby(lengths)]


def attention_varlen(
    query: Tensor, key: Tensor, value: Tensor, batch: PackedBatch, dropout_prob: float = 0.0
) -> Tensor:
    """Return attention by PyTorch's variable-length kernels, through jagged nested tensors.

    On CUDA this is the flash kernel in bfloat16 and the memory-efficient one in float32, both with
    dropout inside; elsewhere PyTorch computes the same sums by plain products.
    """
    # Computed on the host, so that no kernel waits for the device to find them.
    shortest, longest = min(batch.lengths), max(batch.lengths)
    q, k, v = (
        torch.nested.nested_tensor_from_jagged(
            x.contiguous(), offsets=batch.cu_seqlens, min_seqlen=shortest, max_seqlen=longest
        ).transpose(1, 2)  # (B, N, ragged T, D)
        for x in (query, key, value)
    )
    context = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_prob)
    return context.transpose(1, 2).values()  # (total_tokens, N, D)


def _attend(q: Tensor, k: Tensor, v: Tensor, *, dropout_p: float) -> Tensor:
    """Return scaled dot-product attention on (..., T, D) each, with the fast dropout."""
    # Scaling the query is T/D times less work than scaling the scores.
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)  # (..., T, D) x (..., D, T)
    probs = dropout(scores.softmax(dim=-1), dropout_p)
    # (..., T, T) x (..., T, D) -> (..., T, D)
    return probs @ v
