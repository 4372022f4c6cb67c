"""Linear layers that encode in bfloat16 on a CPU with weights in the CPU's own layout.

An encoder that does not change multiplies by the same matrices over and over. Under autocast each
product first casts its matrix to bfloat16, and oneDNN, PyTorch's library for CPUs, reorders it for
its matrix units. Inside `kept_weights` both are done once; oneDNN then also applies the GELU while
the result is still in the processor's cache. Feeds: switch, encoder.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from minbert.fast.products import product, trains_in_bfloat16
from minbert.model import BertIntermediate

ROWS_HINT = 4096  # tokens that the layout is chosen for: those of a usual batch


class Linear(nn.Linear):
    """nn.Linear that multiplies by kept weights inside a block of `kept_weights`."""

    kept: "KeptWeights | None" = None  # in use: inside a block
    spare: "KeptWeights | None" = None  # from an earlier block, checked before use

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features) from (..., in_features)."""
        if self.kept is not None:
            return self.kept(x)
        if x.ndim == 2 and trains_in_bfloat16(self, x):
            return product(x, self.weight, self.bias)
        return super().forward(x)

    def train(self, mode: bool = True) -> "Linear":
        """Set the mode; drop the copies for training, which changes the weights."""
        if mode:
            self.spare = None
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kept": None, "spare": None}  # a deep copy makes its own


class Intermediate(BertIntermediate):
    """The feed-forward network's wide side, GELU included in the product by kept weights."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Return (total_tokens, I) from (total_tokens, H)."""
        kept = getattr(self.dense, "kept", None)
        return super().forward(hidden_states) if kept is None else kept(hidden_states, gelu=True)


class KeptWeights:
    """Bfloat16 copies of a layer's weight, in oneDNN's layout, and bias.

    The operators are those that torch.compile uses on CPUs. They have no public name, but have had
    this one since PyTorch 2.0; builds without oneDNN lack them.
    """

    def __init__(self, layer: nn.Linear, lasting: bool = True):
        self.weight = layer.weight.detach().bfloat16()
        self.bias = None if layer.bias is None else layer.bias.detach().bfloat16()
        # Reordering pays off over many products; the products are the same without it.
        if lasting:
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, ROWS_HINT)
            self.row_hashes = _row_hashes(layer.weight)

    def are_of(self, layer: nn.Linear) -> bool:
        """Return whether the layer still holds the numbers that these are copies of."""
        if layer.bias is not None and self.bias is not None:
            same_bias = torch.equal(layer.bias.detach().bfloat16(), self.bias)
        else:
            same_bias = layer.bias is self.bias
        return same_bias and torch.equal(_row_hashes(layer.weight), self.row_hashes)

    def __call__(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features) bfloat16, after the exact (erf) GELU if asked for."""
        # The operator's third word names GELU's form: "none" is erf, the other one is tanh.
        activation: tuple[str, list[Any], str]
        activation = ("gelu", [], "none") if gelu else ("none", [], "")
        x = x.to(torch.bfloat16)
        output: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, *activation)
        return output


@contextmanager
def kept_weights(
    model: nn.Module, device: torch.device, dtype: torch.dtype, lasting: bool = True
) -> Iterator[None]:
    """Keep the weights of all `Linear` layers for the block, where that makes products faster.

    Copies from an earlier block are reused if the weights are unchanged. Their bits decide, not
    version counters, which a write through `.data` or by a fused optimizer leaves alone: no write,
    whoever makes it, leaves the copies stale.
    """
    layers = []
    if _helps(device, dtype):
        layers = [module for module in model.modules() if isinstance(module, Linear)]
    before = [layer.kept for layer in layers]
    try:
        for layer in layers:
            layer.kept = _current(layer) if lasting else KeptWeights(layer, lasting=False)
        yield
    finally:
        for layer, kept in zip(layers, before, strict=True):
            layer.kept = kept


def _current(layer: Linear) -> KeptWeights:
    """Return copies of the layer's weights as they are, those of an earlier block if they fit."""
    if layer.spare is None or not layer.spare.are_of(layer):
        layer.spare = KeptWeights(layer)
    return layer.spare


def _row_hashes(weight: Tensor) -> Tensor:
    """Return a 64-bit hash of each row of a matrix, (rows,), that depends on every bit and place.

    sum_j r_j x_j mod 2^64 over eight bytes x_j at a time, with random odd r_j: two different rows
    have the same hash with a probability of about 2^-63.
    """
    weight = weight.detach().contiguous()
    if weight.storage_offset() % 2:
        weight = weight.clone()  # eight bytes can be read from even places only
    if weight.dtype != torch.float32 or weight.shape[1] % 2:
        weight = weight.double()  # eight bytes each, whatever they were
    bits = weight.view(torch.int64)
    return bits @ _multipliers(bits.shape[1])


@lru_cache
def _multipliers(count: int) -> Tensor:
    generator = torch.Generator().manual_seed(count)
    return torch.randint(-(2**62), 2**62, (count,), generator=generator) * 2 + 1


def _helps(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether this is bfloat16 on a CPU for which oneDNN has a layout of its own."""
    return (
        device.type == "cpu"
        and dtype == torch.bfloat16
        and torch.backends.mkldnn.is_available()
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )
