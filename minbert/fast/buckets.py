"""Attention for training in bfloat16 on a CPU: sequences of about one length in one product.

A batch of 200 sentences has some 20 lengths. One product per length is a few large and many small
ones, for each of which oneDNN, PyTorch's library for CPUs, prepares code of its own. Here lengths
are rounded up to the next multiple of WIDTH, which leaves two or three products; what is added
weighs nothing, since it is masked before the softmax and no gradient comes from it.

Legend: T tokens of the batch, N heads, D head size, n sequences of a bucket, L its width, P rows of
all buckets: the sum of n * N * L. Reads: dropout. Feeds: attention.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from minbert.fast.dropout import scaled_mask

# The softmax of a row of 16 or 32 bfloat16 numbers takes a third of the time of one of 24.
WIDTH = 16


@dataclass(frozen=True)
class Bucket:
    """Sequences of about one length: rows [start, end) of the padded order."""

    start: int
    end: int
    shape: tuple[int, int, int]  # n, N, L
    bias: Tensor  # (n, 1, 1, L): 0 for keys, -inf for what is added to them


@dataclass(frozen=True)
class Layout:
    """Where each token of a packed batch stands in its bucket, heads first, and the way back."""

    buckets: tuple[Bucket, ...]
    inward: Tensor  # (3P,) rows of (T, 3, N) that queries, keys and values are taken from
    outward: Tensor  # (TN,) rows of P that the tokens' contexts are taken from
    inward_gradient: Tensor  # (P,) rows of (T, N), or TN, a row of zeros, for what is added
    outward_gradient: Tensor  # (3TN,) rows of (3, P)


def attention_in_buckets(joint: Tensor, lengths: tuple[int, ...], dropout_prob: float) -> Tensor:
    """Return softmax(Q K^T) V inside each sequence, (T, N, D), as `minbert.attention` does.

    Args:
        joint: (T, 3, N, D): queries, already divided by sqrt(D), keys and values.
        lengths: of the sequences.
        dropout_prob: dropout on the attention probabilities.
    """
    context: Tensor = _Bucketed.apply(joint, lay_out(lengths, joint.shape[2]), dropout_prob)
    return context


class _Bucketed(torch.autograd.Function):
    """The products of all buckets, with the gradient written out: two copies instead of twenty."""

    @staticmethod
    def forward(ctx: Any, joint: Tensor, layout: Layout, dropout_prob: float) -> Tensor:
        """Return the contexts (T, N, D) of queries, keys and values (T, 3, N, D)."""
        tokens, _, heads, size = joint.shape
        padded = joint.reshape(-1, size).index_select(0, layout.inward).view(3, -1, size)  # (3,P,D)
        context = torch.empty_like(padded[0])  # (P, D)
        kept = []
        for bucket in layout.buckets:
            q, k, v = _pieces(padded, bucket)  # (nN, L, D) each
            scores = torch.bmm(q, k.transpose(1, 2))  # (nN, L, L)
            scores.view(*bucket.shape, -1).add_(bucket.bias)
            probs = scores.softmax(dim=-1)
            # With the mask's scale, so that forward and backward pass multiply by it and no more.
            mask = scaled_mask(probs, dropout_prob) if dropout_prob else None
            dropped = probs if mask is None else probs * mask
            torch.bmm(dropped, v, out=_piece(context, bucket))
            kept += [probs, mask, dropped]
        ctx.layout = layout
        ctx.save_for_backward(padded, *kept)
        return context.index_select(0, layout.outward).view(tokens, heads, size)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient (T, 3, N, D) of that of the contexts."""
        tokens, heads, size = gradients[0].shape
        layout: Layout = ctx.layout
        padded, *kept = ctx.saved_tensors
        # One more row, of zeros: what was added to a bucket passes no gradient on.
        rows = F.pad(gradients[0].reshape(-1, size), (0, 0, 0, 1))  # (TN + 1, D)
        d_context = rows.index_select(0, layout.inward_gradient)  # (P, D)
        d_padded = torch.empty_like(padded)  # (3, P, D)
        for number, bucket in enumerate(layout.buckets):
            probs, mask, dropped = kept[3 * number : 3 * number + 3]
            q, k, v = _pieces(padded, bucket)
            d_q, d_k, d_v = _pieces(d_padded, bucket)
            d_out = _piece(d_context, bucket)  # (nN, L, D)
            # C = P V, and so dV = P^T dC and dP = dC V^T ...
            torch.bmm(dropped.transpose(1, 2), d_out, out=d_v)
            d_probs = torch.bmm(d_out, v.transpose(1, 2))  # (nN, L, L)
            if mask is not None:
                d_probs.mul_(mask)
            # ... through the softmax: dS = P (dP - sum over the row of dP P) ...
            d_scores = torch._softmax_backward_data(d_probs, probs, -1, probs.dtype)
            # ... and S = Q K^T, and so dQ = dS K and dK = dS^T Q.
            torch.bmm(d_scores, k, out=d_q)
            torch.bmm(d_scores.transpose(1, 2), q, out=d_k)
        d_joint = d_padded.view(-1, size).index_select(0, layout.outward_gradient)
        return d_joint.view(tokens, 3, heads, size), None, None


def _piece(rows: Tensor, bucket: Bucket) -> Tensor:
    """Return the rows (P, D) of a bucket as a view (nN, L, D)."""
    n, heads, width = bucket.shape
    return rows[bucket.start : bucket.end].view(n * heads, width, -1)


def _pieces(rows: Tensor, bucket: Bucket) -> list[Tensor]:
    """Return a bucket's queries, keys and values, (nN, L, D) each, views of (3, P, D)."""
    return [_piece(part, bucket) for part in rows]


@lru_cache(maxsize=4)  # all layers of a model ask for the layout of one batch
def lay_out(lengths: tuple[int, ...], heads: int) -> Layout:
    """Return the buckets of a batch and the rows that are copied into and out of them."""
    sizes = np.array(lengths)
    starts = np.cumsum(sizes) - sizes
    widths = -(-sizes // WIDTH) * WIDTH
    buckets: list[Bucket] = []
    tokens, head_numbers, real = [], [], []
    for width in np.unique(widths).tolist():
        sequences = np.flatnonzero(widths == width)
        place = np.arange(width)
        inside = place < sizes[sequences, None]  # (n, L)
        # Any number may stand where nothing is read; the first token's is at hand.
        token = starts[sequences, None] + np.where(inside, place, 0)  # (n, L)
        shape = (len(sequences), heads, width)
        tokens.append(np.broadcast_to(token[:, None], shape).ravel())
        real.append(np.broadcast_to(inside[:, None], shape).ravel())
        head_numbers.append(np.broadcast_to(np.arange(heads)[:, None], shape).ravel())
        start = buckets[-1].end if buckets else 0
        bias = torch.from_numpy(np.where(inside, 0.0, -math.inf)[:, None, None])
        buckets.append(Bucket(start, start + math.prod(shape), shape, bias.bfloat16()))
    token, head, is_real = (np.concatenate(parts) for parts in (tokens, head_numbers, real))
    thirds = np.arange(3)[:, None]
    inward = token * 3 * heads + head + thirds * heads  # (3, P)
    inward_gradient = np.where(is_real, token * heads + head, sizes.sum() * heads)  # (P,)
    outward = np.empty(sizes.sum() * heads, np.int64)  # (TN,)
    outward[inward_gradient[is_real]] = np.flatnonzero(is_real)
    outward_gradient = outward.reshape(-1, 1, heads) + thirds * len(token)  # (T, 3, N)
    rows = (inward, outward, inward_gradient, outward_gradient)
    return Layout(tuple(buckets), *(torch.from_numpy(array.ravel()) for array in rows))
