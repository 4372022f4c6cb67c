"""Fast attention over packed sequences: in buckets, by length, or by a GPU kernel.

All forms compute what `minbert.attention.attention` does. Encoding on a CPU uses runs of equal
lengths, a GPU PyTorch's variable-length kernel. Training in bfloat16 on a CPU uses *buckets*: a
batch of 200 sentences has some 20 lengths. One product per length is a few large and many small
ones, for each of which oneDNN, PyTorch's library for CPUs, generates code. In buckets,
lengths are rounded up to the next multiple of WIDTH, which leaves two or three products. The
padding has no effect: it is masked before the softmax and passes no gradient.

Legend: B sequences, T tokens of one (in buckets: of the batch), N heads, D head size, n sequences
of equal length or of a bucket, L its width, P rows of all buckets: the sum of n * N * L.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.fast.dropout import dropout, scaled_mask
from minbert.fast.linear import Keeper
from minbert.fast.products import product, trains_in_bfloat16
from minbert.model import BertSelfAttention
from minbert.packing import PackedBatch

# PyTorch's softmax of bfloat16 reads 32 numbers at a time, and takes up to six times as long for
# shorter rows.
SOFTMAX_ROW = 32
# The softmax of a row of 16 or 32 bfloat16 numbers takes a third of the time of one of 24.
WIDTH = 16
# Sequences of a bucket, rounded up as well: oneDNN keeps its code for shapes that it has seen.
COUNT = 8


class SelfAttention(Keeper, BertSelfAttention):
    """Self-attention that chooses the form of attention for its device."""

    def kept_layers(self) -> tuple[nn.Linear, ...]:
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
    All tensors are (total_tokens, N, D).
    """
    # On CPUs the fused kernel is faster only in float32 and without gradient.
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

    (total_tokens, N, D) from queries, keys and values side by side, (total_tokens, 3, N, D).
    """
    contexts = joint.new_empty(joint[:, 0].shape)
    start = 0
    for length, n in _runs(lengths):
        rows = slice(start, start := start + length * n)
        # Heads first, queries, keys and values in a single copy: (n * N, T, D) each.
        q, k, v = joint[rows].unflatten(0, (n, length)).permute(2, 0, 3, 1, 4).flatten(1, 2)
        scores = torch.bmm(q, k.transpose(1, 2)).mul_(1 / math.sqrt(q.shape[-1]))
        # Padding has weight exp(-inf) = 0.
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


@dataclass(frozen=True)
class Bucket:
    """Sequences of about one length: rows [start, end) of the padded order."""

    start: int
    end: int
    shape: tuple[int, int, int]  # n, N, L
    bias: Tensor  # (n, 1, 1, L): 0 for keys, -inf for padding


@dataclass(frozen=True)
class Layout:
    """The place of each token of a packed batch in its bucket, heads first, and the inverse."""

    buckets: tuple[Bucket, ...]
    inward: Tensor  # (3P,) rows of (T, 3, N) that queries, keys and values are taken from
    outward: Tensor  # (TN,) rows of P that the tokens' contexts are taken from
    inward_gradient: Tensor  # (P,) rows of (T, N); padding: TN, a row of zeros
    outward_gradient: Tensor  # (3TN,) rows of (3, P)


def attention_in_buckets(joint: Tensor, lengths: tuple[int, ...], dropout_prob: float) -> Tensor:
    """Return softmax(Q K^T) V inside each sequence, (T, N, D), as `minbert.attention` does.

    `joint` is (T, 3, N, D): queries, already divided by sqrt(D), keys and values.
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
            # The mask includes the scale: both passes need only one multiplication.
            mask = scaled_mask(probs, dropout_prob) if dropout_prob else None
            dropped = probs if mask is None else probs * mask
            torch.bmm(dropped, v, out=_piece(context, bucket))
            kept += [probs, mask, dropped]
        ctx.layout = layout
        ctx.save_for_backward(padded, *kept)
        # The rows behind the last sequence (`minbert.fast.products.Encoder`) attend to nothing.
        contexts = joint.new_zeros(tokens, heads, size)
        _copy_rows(context, layout.outward, contexts)
        return contexts

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient (T, 3, N, D) of that of the contexts."""
        tokens, heads, size = gradients[0].shape
        layout: Layout = ctx.layout
        padded, *kept = ctx.saved_tensors
        # One more row, of zeros: the padding of a bucket passes no gradient.
        read = gradients[0].reshape(-1, size)[: len(layout.outward)]
        rows = F.pad(read, (0, 0, 0, 1))  # (TN + 1, D)
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
        d_joint = padded.new_zeros(tokens, 3, heads, size)
        _copy_rows(d_padded.view(-1, size), layout.outward_gradient, d_joint)
        return d_joint, None, None


def _copy_rows(source: Tensor, rows: Tensor, target: Tensor) -> None:
    """Copy rows (..., D) of the source, in this order, to the beginning of the target (..., D)."""
    torch.index_select(source, 0, rows, out=target.view(-1, source.shape[-1])[: len(rows)])


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
        real_ones = np.flatnonzero(widths == width)
        # The last few may be copies of the first, which nothing reads.
        sequences = np.resize(real_ones, -(-len(real_ones) // COUNT) * COUNT)
        place = np.arange(width)
        inside = place < sizes[sequences, None]  # (n, L)
        # Padding may have any values, so the first token's are used.
        token = starts[sequences, None] + np.where(inside, place, 0)  # (n, L)
        shape = (len(sequences), heads, width)
        read = inside & (np.arange(len(sequences)) < len(real_ones))[:, None]
        tokens.append(np.broadcast_to(token[:, None], shape).ravel())
        real.append(np.broadcast_to(read[:, None], shape).ravel())
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
