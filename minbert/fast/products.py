"""Matrix products for training in bfloat16 on a CPU, and their numbers of rows.

Autocast computes a product with bias in two passes, and its gradients in the order of factors
that follows from the forward pass. oneDNN, PyTorch's library for CPUs, writes code for every new
shape, and batches differ in their tokens from step to step. Here the bias is added inside the
product, the weight's gradient is computed in the faster order, and batches are rounded up to a
multiple of ROWS, so that a few shapes recur.

If only the [CLS] states of the last layer are read, that layer computes no others, also when
encoding. Its attention needs the keys and values of all tokens, but the operations after it work
on each token separately. This saves most of one of mini's four layers, and a fifteenth of the work
of bert-base's twelve.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.mlm import last_states_at
from minbert.model import BertEncoder, BertModel
from minbert.packing import PackedBatch

ROWS = 64  # half of this are added, on average, to the few thousand of a batch


class Encoder(BertEncoder):
    """The stack of layers, on a number of rows that recurs from batch to batch."""

    def forward(self, hidden_states: Tensor, batch: PackedBatch) -> list[Tensor]:
        """Return the states before the first layer and after each one, (total_tokens, H) each."""
        tokens = len(hidden_states)
        if not trains_in_bfloat16(self, hidden_states) or tokens % ROWS == 0:
            return super().forward(hidden_states, batch)
        # Rows of no sequence: attention leaves them out, and nothing reads them afterwards.
        rows = F.pad(hidden_states, (0, 0, 0, -tokens % ROWS))
        return [states[:tokens] for states in super().forward(rows, batch)]


def trains_in_bfloat16(module: nn.Module, x: Tensor) -> bool:
    """Return whether a module in training mode reads x on a CPU, under autocast to bfloat16.

    With or without gradient: gradient caching (`simcse.grad_cache`) has a pass of each kind, which
    must draw the same random numbers.
    """
    return (
        module.training
        and torch.is_autocast_enabled("cpu")
        and multiplies_fast(x.device, torch.get_autocast_dtype("cpu"))
    )


def multiplies_fast(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether this is bfloat16 on a CPU for which oneDNN has products in it."""
    return (
        device.type == "cpu"
        and dtype == torch.bfloat16
        and torch.backends.mkldnn.is_available()
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W^T + b in bfloat16, (rows, out_features) from (rows, in_features)."""
    result: Tensor = _Product.apply(x, weight, bias)
    return result


class _Product(torch.autograd.Function):
    """Casts each factor once; each gradient has the type of its input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        # The cast factors are kept, since the backward pass multiplies the same numbers.
        ctx.dtype = x.dtype
        x, weight = x.bfloat16(), weight.bfloat16()
        ctx.save_for_backward(x, weight)
        bias = None if bias is None else bias.bfloat16()
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of all three from that of the product, (rows, out_features)."""
        (gradient,) = gradients
        x, weight = ctx.saved_tensors
        # dX = dY W, and dW = dY^T X.
        d_x = (gradient @ weight).to(ctx.dtype) if ctx.needs_input_grad[0] else None
        d_weight = _weight_gradient(x, gradient).float() if ctx.needs_input_grad[1] else None
        # The bias was added to every row.
        d_bias = gradient.sum(0).float() if ctx.needs_input_grad[2] else None
        return d_x, d_weight, d_bias


def _weight_gradient(x: Tensor, gradient: Tensor) -> Tensor:
    """Return dY^T X, (out, in), from (rows, in) and (rows, out), in the faster order of the two."""
    if x.shape[1] > gradient.shape[1]:
        return gradient.T @ x
    # Transpose in bfloat16, then cast: doing both in one pass takes twice as long.
    return (x.T @ gradient).T.contiguous()


def first_tokens_suffice(model: BertModel, batch: PackedBatch, pooling: str) -> bool:
    """Return whether the last layer may compute only the [CLS] states, on a CPU.

    It does when training in bfloat16, and when encoding in float32 or in int8 with AVX2.
    """
    read = pooling == "cls_before_pooler" or (pooling == "cls" and model.pooler is not None)
    on_cpu = batch.input_ids.device.type == "cpu"
    encodes = on_cpu and not model.training and not torch.is_autocast_enabled("cpu")
    return read and (encodes or trains_in_bfloat16(model, batch.input_ids))


def first_token_embeddings(model: BertModel, batch: PackedBatch, pooling: str) -> Tensor:
    """Return `minbert.pooling.pool`'s embeddings (B, H), pooling "cls" or "cls_before_pooler"."""
    model.check_length(batch)
    states = model.embeddings(batch)  # (total_tokens, H)
    if model.training:  # a number of rows that recurs, as in `Encoder`
        states = F.pad(states, (0, 0, 0, -len(states) % ROWS))
    states = last_states_at(model, states, batch, batch.cu_seqlens[:-1])  # (B, H)
    if pooling == "cls":
        assert model.pooler is not None
        states = model.pooler(states)
    return states.float()
