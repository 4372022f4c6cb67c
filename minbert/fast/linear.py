"""Linear layers for encoding in bfloat16 on a CPU, with weights in the CPU's layout.

An encoder that does not change multiplies by the same matrices over and over. Under autocast each
product first casts its matrix to bfloat16, and oneDNN, PyTorch's library for CPUs, reorders it for
its matrix units. Inside `kept_weights` both are done once; oneDNN then also applies the GELU while
the result is still in the processor's cache.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Self

import torch
from torch import Tensor, nn

from minbert.fast.products import multiplies_fast, product, trains_in_bfloat16
from minbert.model import BertIntermediate, BertResidual

ROWS_HINT = 4096  # tokens that the layout is chosen for: those of a usual batch
# For oneDNN; the third word names GELU's form: "none" is erf, the other one is tanh.
Activation = tuple[str, list[Any], str]
ERF_GELU: Activation = ("gelu", [], "none")
NO_ACTIVATION: Activation = ("none", [], "")


class Product(ABC):
    """A product with kept weights: `KeptWeights`, or that of `minbert.fast.int8`."""

    @abstractmethod
    def __call__(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features), after the exact (erf) GELU if asked for."""

    def plus(self, update: Tensor, residual: Tensor) -> Tensor:
        """Return the product with `update`, added to the half-layer's input, (rows, H)."""
        return self(update).add_(residual)


class Keeper(nn.Module):
    """A module that multiplies by kept weights inside a block of `kept_weights`."""

    kept: Product | None = None  # in use: inside a block
    spare: "KeptWeights | None" = None  # from an earlier block, checked before use

    def kept_layers(self) -> tuple[nn.Linear, ...]:
        """Return the layers whose weights are kept, side by side in one matrix."""
        # Every subclass returns its layers.
        raise NotImplementedError

    def train(self, mode: bool = True) -> Self:
        """Set the mode; drop the copies for training, which changes the weights."""
        if mode:
            self.spare = None
        return super().train(mode)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kept": None, "spare": None}  # a deep copy makes its own


class Linear(Keeper, nn.Linear):
    """nn.Linear with kept weights."""

    def kept_layers(self) -> tuple[nn.Linear, ...]:
        return (self,)

    def forward(self, x: Tensor) -> Tensor:
        # x W^T + b, (..., in_features) -> (..., out_features), in one of three ways: encoding ...
        if self.kept is not None:
            return self.kept(x)
        # ... training in bfloat16, whose inputs are packed, (rows, in_features) ...
        if x.ndim == 2 and trains_in_bfloat16(self, x):
            return product(x, self.weight, self.bias)
        # ... and all else, as PyTorch computes it.
        return super().forward(x)


class Intermediate(BertIntermediate):
    """The first feed-forward layer; the product with kept weights includes the GELU."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        # (rows, H) -> (rows, I). A separate GELU would read and write the wide result once more.
        kept = getattr(self.dense, "kept", None)
        return super().forward(hidden_states) if kept is None else kept(hidden_states, gelu=True)


class Residual(BertResidual):
    """The end of both half-layers, in bfloat16 throughout where weights are kept."""

    def forward(self, update: Tensor, residual: Tensor) -> Tensor:
        kept = getattr(self.dense, "kept", None)
        if kept is None or self.training:
            return super().forward(update, residual)
        # (rows, in_features) -> (rows, H). The norm's mean and variance are computed in float32,
        # its input and output are of the products' type.
        return self.LayerNorm(kept.plus(update, residual))


class KeptWeights(Product):
    """Bfloat16 copies of one or more layers' weights, in oneDNN's layout, and biases.

    The operators are those that torch.compile uses on CPUs. They have no public name, but have had
    this one since PyTorch 2.0; builds without oneDNN lack them.
    """

    def __init__(self, *layers: nn.Linear, lasting: bool = True):
        # Queries, keys and values: three (H, H) become one (3H, H), and three products one.
        weights = [layer.weight.detach().bfloat16() for layer in layers]
        self.weight = weights[0] if len(layers) == 1 else torch.cat(weights)
        self.bias = biases_of(layers)
        # Reordering pays off over many products; the products are the same without it.
        if lasting:
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, ROWS_HINT)
            self.row_hashes = [row_hashes(layer.weight) for layer in layers]

    def are_of(self, *layers: nn.Linear) -> bool:
        """Return whether the weights of the layers are unchanged since they were copied."""
        biases = biases_of(layers)
        if biases is None or self.bias is None:
            same_biases = biases is self.bias
        else:
            same_biases = torch.equal(biases, self.bias)
        return same_biases and all(
            torch.equal(row_hashes(layer.weight), hashes)
            for layer, hashes in zip(layers, self.row_hashes, strict=True)
        )

    def __call__(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features) bfloat16, after the exact (erf) GELU if asked for."""
        x = x.to(torch.bfloat16)
        activation = ERF_GELU if gelu else NO_ACTIVATION
        output: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, *activation)
        return output


@contextmanager
def kept_weights(
    model: nn.Module, device: torch.device, dtype: torch.dtype, lasting: bool = True
) -> Iterator[None]:
    """Keep the weights of all `keepers` for the block, where that makes products faster.

    Copies from an earlier block are reused if the weights are unchanged, by hashes of all bits.
    Version counters would not suffice: a write through `.data` or by a fused optimizer does not
    change them, and would leave stale copies.
    """
    modules = keepers(model) if multiplies_fast(device, dtype) else []
    copies = [
        _current(keeper) if lasting else KeptWeights(*keeper.kept_layers(), lasting=False)
        for keeper in modules
    ]
    with multiplying_by(modules, copies):
        yield


def _current(keeper: Keeper) -> KeptWeights:
    """Return copies of the current weights; reuse those of an earlier block if unchanged."""
    layers = keeper.kept_layers()
    if keeper.spare is None or not keeper.spare.are_of(*layers):
        keeper.spare = KeptWeights(*layers)
    return keeper.spare


def keepers(model: nn.Module) -> list[Keeper]:
    """Return the modules that keep weights, except layers whose weights another module keeps."""
    modules = [module for module in model.modules() if isinstance(module, Keeper)]
    inside = {layer for keeper in modules for layer in keeper.kept_layers() if layer is not keeper}
    return [keeper for keeper in modules if keeper not in inside]


@contextmanager
def multiplying_by(modules: Sequence[Keeper], products: Sequence[Product]) -> Iterator[None]:
    """Let each of a model's `keepers` multiply by its product for the block."""
    before = [keeper.kept for keeper in modules]
    try:
        for keeper, kept in zip(modules, products, strict=True):
            keeper.kept = kept
        yield
    finally:
        for keeper, kept_before in zip(modules, before, strict=True):
            keeper.kept = kept_before


def biases_of(layers: Sequence[nn.Linear], dtype: torch.dtype = torch.bfloat16) -> Tensor | None:
    """Return the layers' biases end to end, None where they have none."""
    biases = [layer.bias.detach().to(dtype) for layer in layers if layer.bias is not None]
    return torch.cat(biases) if biases else None


def row_hashes(weight: Tensor) -> Tensor:
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
