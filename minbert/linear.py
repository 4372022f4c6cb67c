"""Linear layers that encode in bfloat16 on a CPU with weights in the CPU's own layout.

A frozen encoder multiplies by the same matrices over and over. Under autocast each product first
casts its matrix to bfloat16, and oneDNN, PyTorch's library for CPUs, reorders it for its matrix
units. Here both are done once and kept; oneDNN then also applies the GELU while the result is
still in the processor's cache. Feeds: model.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS_HINT = 4096  # tokens that the layout is chosen for: those of a usual batch


class Linear(nn.Linear):
    """nn.Linear, also with an exact (erf) GELU behind it; the same numbers up to rounding."""

    _packed: "_Packed | None" = None

    def forward(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features) from (..., in_features)."""
        if self.training or not _can_pack(x):
            self._packed = None  # a pass with gradients is followed by new weights
            output = super().forward(x)
            return F.gelu(output) if gelu else output
        if self._packed is None or self._packed.is_stale(self.weight, self.bias):
            self._packed = _Packed(self.weight, self.bias)
        return self._packed(x.to(torch.bfloat16), gelu)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_packed": None}  # copies and pickles make their own


class _Packed:
    """Bfloat16 copies of weight, in oneDNN's layout, and bias, as they were when this was made.

    The operators are those that torch.compile uses on CPUs. They have no public name, but have had
    this one since PyTorch 2.0; builds without oneDNN lack them.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None):
        self.source = (weight, bias)
        self.writes = _writes(self.source)
        reorder = torch.ops.mkldnn._reorder_linear_weight
        self.weight = reorder(weight.detach().bfloat16(), ROWS_HINT)
        self.bias = None if bias is None else bias.detach().bfloat16()

    def is_stale(self, weight: Tensor, bias: Tensor | None) -> bool:
        """Whether these are other parameters by now, or were written to.

        Fused optimizers and writes through `.data` leave no trace; a forward pass with gradients,
        which an optimizer needs first, therefore lets the copies go.
        """
        same = self.source[0] is weight and self.source[1] is bias
        return not same or self.writes != _writes(self.source)

    def __call__(self, x: Tensor, gelu: bool) -> Tensor:
        activation: tuple[str, list[Any], str]
        activation = ("gelu", [], "none") if gelu else ("none", [], "")  # the third: not by tanh
        output: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, *activation)
        return output


def _writes(parameters: tuple[Tensor | None, ...]) -> int:
    """Return a number that grows with every write to the parameters."""
    return sum(p._version for p in parameters if p is not None and not p.is_inference())


def _can_pack(x: Tensor) -> bool:
    """Whether this is encoding, without gradient, in bfloat16, on a CPU that oneDNN does it on."""
    return (
        not torch.is_grad_enabled()
        and x.device.type == "cpu"
        and torch.is_autocast_enabled("cpu")
        and torch.get_autocast_dtype("cpu") == torch.bfloat16
        and torch.backends.mkldnn.is_available()
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )
