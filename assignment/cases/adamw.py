"""Cases of the part "adamw"."""

from typing import Any

import torch
from torch import Tensor


def plain(given: Any) -> dict[str, Tensor]:
    """The parameter after each of a few steps, without decay."""
    from assignment.starter.adamw import AdamW

    parameter = torch.nn.Parameter(given["parameter"].clone())
    optimizer = AdamW(
        [parameter],
        lr=given.number("rate"),
        betas=(given.number("beta1"), given.number("beta2")),
        eps=given.number("eps"),
        weight_decay=given.number("decay"),
    )
    states = {}
    for number, gradient in enumerate(given["gradients"], start=1):
        parameter.grad = gradient.clone()
        optimizer.step()
        states[f"after step {number}"] = parameter.detach().clone()
    return states


def decayed(given: Any) -> dict[str, Tensor]:
    """The same with weight decay."""
    return plain(given)


def tiny_gradients(given: Any) -> dict[str, Tensor]:
    """The same with gradients as small as epsilon."""
    return plain(given)
