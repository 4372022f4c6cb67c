"""Linear layers that encode in bfloat16 on a CPU with weights in the CPU's own layout.

An encoder that does not change multiplies by the same matrices over and over. Under autocast each
product first casts its matrix to bfloat16, and oneDNN, PyTorch's library for CPUs, reorders it for
its matrix units. Inside `kept_weights` both are done once; oneDNN then also applies the GELU while
the result is still in the processor's cache. Feeds: switch, encoder.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from minbert.model import BertIntermediate

ROWS_HINT = 4096  # tokens that the layout is chosen for: those of a usual batch


class Linear(nn.Linear):
    """nn.Linear that multiplies by kept weights while there are any."""

    kept: "KeptWeights | None" = None

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features) from (..., in_features)."""
        return super().forward(x) if self.kept is None else self.kept(x)


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

    def __init__(self, layer: nn.Linear):
        reorder = torch.ops.mkldnn._reorder_linear_weight
        self.weight = reorder(layer.weight.detach().bfloat16(), ROWS_HINT)
        self.bias = None if layer.bias is None else layer.bias.detach().bfloat16()

    def __call__(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features) bfloat16, through the exact (erf) GELU if asked for."""
        # The operator's third word names GELU's form: "none" is erf, the other one is tanh.
        activation: tuple[str, list[Any], str]
        activation = ("gelu", [], "none") if gelu else ("none", [], "")
        x = x.to(torch.bfloat16)
        output: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, *activation)
        return output


@contextmanager
def kept_weights(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Iterator[None]:
    """Keep the weights of all `Linear` layers for the block, where that makes products faster.

    The copies are made when the block begins and gone when it ends. So they cannot outlive a write
    to the weights, which nothing would announce: an optimizer's step, a write through `.data`.
    """
    layers = []
    if _helps(device, dtype):
        layers = [module for module in model.modules() if isinstance(module, Linear)]
    try:
        for layer in layers:
            layer.kept = KeptWeights(layer)
        yield
    finally:
        for layer in layers:
            layer.kept = None


def _helps(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether this is bfloat16 on a CPU for which oneDNN has a layout of its own."""
    return (
        device.type == "cpu"
        and dtype == torch.bfloat16
        and torch.backends.mkldnn.is_available()
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )
