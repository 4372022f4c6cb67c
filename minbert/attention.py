"""Attention over packed sequences: softmax(QKᵀ/√D)V inside each sequence (Vaswani et al., eq. 1).

Legend: B sequences, T tokens of one sequence, N heads, D head size, n sequences of equal length.
One function, `packed_attention`, chooses between three forms that compute the same numbers:
the plain reference, one for CPUs (grouped by length), one for GPUs (variable-length kernel).
Feeds: model.
"""

import math
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor

from minbert.dropout import dropout


def packed_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens: Tensor,
    lengths: tuple[int, ...],
    dropout_prob: float = 0.0,
) -> Tensor:
    """Attend within each sequence of a packed batch.

    Args:
        query, key, value: (total_tokens, N, D).
        cu_seqlens: (B + 1,) int64 borders of the sequences.
        lengths: the same borders as B lengths on the host.
        dropout_prob: dropout on the attention probabilities (training only).

    Returns:
        (total_tokens, N, D).
    """
    if query.is_cuda:
        return attention_varlen(query, key, value, cu_seqlens, lengths, dropout_prob)
    return attention_by_length(query, key, value, lengths, dropout_prob)


def attention_reference(
    query: Tensor, key: Tensor, value: Tensor, lengths: tuple[int, ...], dropout_prob: float = 0.0
) -> Tensor:
    """Attention one sequence at a time: the form to read, and the yardstick of the tests."""
    contexts = []
    for q, k, v in zip(query.split(lengths), key.split(lengths), value.split(lengths), strict=True):
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))  # (N, T, D) each
        contexts.append(_attend(q, k, v, dropout_p=dropout_prob).transpose(0, 1))  # (T, N, D)
    return torch.cat(contexts)  # (total_tokens, N, D)


def attention_by_length(
    query: Tensor, key: Tensor, value: Tensor, lengths: tuple[int, ...], dropout_prob: float = 0.0
) -> Tensor:
    """Attention for runs of neighbouring sequences of equal length, one batched product a run.

    Callers sort their batches by length, so that runs are long; unsorted batches are merely slower.
    """
    # On CPUs the fused kernel wins forward in float32 only; its backward loses to plain products.
    trains = dropout_prob > 0 or (torch.is_grad_enabled() and query.requires_grad)
    plain = trains or query.dtype != torch.float32
    attend = _attend if plain else F.scaled_dot_product_attention
    runs = [(length, len(list(run))) for length, run in groupby(lengths)]
    # Split, not sliced: the gradient of a slice is as large as the whole, for every single run.
    pieces = (x.split([length * n for length, n in runs]) for x in (query, key, value))
    contexts = []
    for (length, _), *piece in zip(runs, *pieces, strict=True):
        shape = (-1, length, *query.shape[1:])
        q, k, v = (x.view(shape).transpose(1, 2) for x in piece)  # (n, N, T, D) each
        context = attend(q, k, v, dropout_p=dropout_prob)  # (n, N, T, D)
        contexts.append(context.transpose(1, 2).flatten(0, 1))  # (n * T, N, D)
    return torch.cat(contexts)  # (total_tokens, N, D)


def attention_varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens: Tensor,
    lengths: tuple[int, ...],
    dropout_prob: float = 0.0,
) -> Tensor:
    """Attention by PyTorch's variable-length kernels, reached through jagged nested tensors.

    On CUDA this is the flash kernel in bfloat16 and the memory-efficient one in float32, both with
    dropout inside; elsewhere PyTorch computes the same sums by plain products.
    """
    q, k, v = (
        torch.nested.nested_tensor_from_jagged(
            x.contiguous(), offsets=cu_seqlens, min_seqlen=min(lengths), max_seqlen=max(lengths)
        ).transpose(1, 2)  # (B, N, ragged T, D)
        for x in (query, key, value)
    )
    context = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_prob)
    return context.transpose(1, 2).values()  # (total_tokens, N, D)


def _attend(q: Tensor, k: Tensor, v: Tensor, *, dropout_p: float) -> Tensor:
    """Scaled dot-product attention written out, (..., T, D) each."""
    # Scaling the query is T/D times less work than scaling the scores.
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)  # (..., T, D) x (..., D, T)
    probs = dropout(scores.softmax(dim=-1), dropout_p)
    return probs @ v  # (..., T, T) x (..., T, D) -> (..., T, D)
