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

    _packed: tuple[int, Tensor, Tensor | None] | None = None

    def forward(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features) from (..., in_features)."""
        if self.training or not _can_pack(x):
            self._packed = None  # training changes the weights: what was kept is of no more use
            output = super().forward(x)
            return F.gelu(output) if gelu else output
        weight, bias = self._packed_weights()
        x = x.to(torch.bfloat16)
        if gelu:
            return _linear_pointwise(x, weight, bias, "gelu", [], "none")  # "none": not by tanh
        return _linear_pointwise(x, weight, bias, "none", [], "")

    def _packed_weights(self) -> tuple[Tensor, Tensor | None]:
        """Return bfloat16 copies of weight, in oneDNN's layout, and bias; made when they change."""
        if self._packed is None or self._packed[0] != self._writes():
            weight = _reorder_linear_weight(self.weight.detach().bfloat16(), ROWS_HINT)
            bias = None if self.bias is None else self.bias.detach().bfloat16()
            self._packed = (self._writes(), weight, bias)
        return self._packed[1:]

    def _writes(self) -> int:
        """Return a number that changes with every write to the parameters."""
        return sum(p._version for p in self.parameters() if not p.is_inference())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_packed": None}  # copies and pickles make their own


def _can_pack(x: Tensor) -> bool:
    """Whether this is encoding, without gradient, in bfloat16, on a CPU that oneDNN knows."""
    return (
        not torch.is_grad_enabled()
        and x.device.type == "cpu"
        and torch.is_autocast_enabled("cpu")
        and torch.get_autocast_dtype("cpu") == torch.bfloat16
        and torch.backends.mkldnn.is_available()
    )


# The operators that torch.compile uses on CPUs. They have no public name, but have had this one
# since PyTorch 2.0.
_linear_pointwise = torch.ops.mkldnn._linear_pointwise
_reorder_linear_weight = torch.ops.mkldnn._reorder_linear_weight
