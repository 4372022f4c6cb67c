"""The steps of a sentence encoder after pooling: Dense layers and scaling to unit length.

They are the steps after Pooling in sentence-transformers' modules.json, as PyTorch modules.
Legend: B texts, D and E dimensions of an embedding before and after a step.
"""

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# The last part of the names in a Dense's config.json, such as torch.nn.modules.activation.Tanh.
ACTIVATIONS: dict[str, type[nn.Module]] = {
    "Identity": nn.Identity,
    "Tanh": nn.Tanh,
    "GELU": nn.GELU,
    "ReLU": nn.ReLU,
}


class Dense(nn.Module):
    """A linear layer and an activation; `use_residual` adds the input, in the output's size."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        activation: str = "Tanh",
        use_residual: bool = False,
    ):
        super().__init__()
        # The type is explicit, since the calling program may have changed the default.
        self.linear = nn.Linear(in_features, out_features, bias, dtype=torch.float32)
        self.activation = ACTIVATIONS[activation]()
        self.residual: nn.Module | None = None
        if use_residual:
            same_size = in_features == out_features
            self.residual = (
                nn.Identity()
                if same_size
                else nn.Linear(in_features, out_features, bias=False, dtype=torch.float32)
            )

    def forward(self, embeddings: Tensor) -> Tensor:
        """Return (B, E) from (B, D)."""
        projected: Tensor = self.activation(self.linear(embeddings))
        return projected if self.residual is None else projected + self.residual(embeddings)

    @property
    def settings(self) -> dict[str, Any]:
        """Return the content of its config.json in a folder of sentence-transformers."""
        settings = {
            "in_features": self.linear.in_features,
            "out_features": self.linear.out_features,
            "bias": self.linear.bias is not None,
            "activation_function": _dotted(self.activation),
        }
        return settings if self.residual is None else {**settings, "use_residual": True}


class Normalize(nn.Module):
    """Scales embeddings to unit length."""

    settings: ClassVar[dict[str, Any]] = {}  # it has none

    def forward(self, embeddings: Tensor) -> Tensor:
        """Return (B, D) from (B, D)."""
        return F.normalize(embeddings, dim=-1)


def width_after(steps: nn.Sequential, width: int) -> int:
    """Return E, the dimensions of an embedding after all steps, from D before the first."""
    for step in steps:
        if isinstance(step, Dense):
            width = step.linear.out_features
    return width


def _dotted(module: nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__name__}"
