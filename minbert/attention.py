"""Scaled dot-product attention inside each sequence of a packed batch (Vaswani et al. 2017, eq. 1).

    Attention(Q, K, V) = softmax(Q K^T / sqrt(D)) V

Legend: T tokens of one sequence, N heads, D head size; total_tokens is the sum of all T.
This is the readable version. `minbert.fast.attention` computes the same numbers faster, and the
tests compare it with this one, gradients included.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: tuple[int, ...],
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Return for every token the attention-weighted mean of the values in its sequence.

    Args:
        query, key, value: (total_tokens, N, D).
        lengths: the number of tokens of each sequence.
        dropout: applied to the attention probabilities.

    Returns:
        (total_tokens, N, D).
    """
    contexts = []
    # One sequence at a time: no token attends to another sequence, so no mask is needed.
    for q, k, v in zip(query.split(lengths), key.split(lengths), value.split(lengths), strict=True):
        # Heads come first, so each head is a separate matrix product: (N, T, D).
        q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)

        # How well does each query match each key? The dot product of two random vectors of D
        # numbers grows with sqrt(D); dividing by it keeps softmax where it has a gradient.
        # (N, T, D) x (N, D, T) -> (N, T, T)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])

        # Every row becomes a distribution over the tokens to attend to.
        probs = scores.softmax(dim=-1)  # (N, T, T)
        if dropout is not None:
            probs = dropout(probs)

        # The weighted mean of the values: (N, T, T) x (N, T, D) -> (N, T, D).
        contexts.append((probs @ v).transpose(0, 1))  # (T, N, D)
    return torch.cat(contexts)  # (total_tokens, N, D)
