"""Cases of the part "adamw"."""

from typing import Any

import torch
from torch import Tensor


def draw_plain(draw: Any) -> dict[str, Any]:
    """Return a parameter and the gradients of a few steps."""
    shape = (draw.size(3, 5), draw.size(2, 4))
    return {
        "parameter": draw.floats(*shape),
        "gradients": draw.floats(draw.size(4, 6), *shape),
        "late parameter": draw.floats(*shape),
        "other parameter": draw.floats(*shape),
        "rate": 0.01 * draw.size(2, 9),
        "decay": 0.0,
        "beta1": 0.8,
        "beta2": 0.95,
        "eps": 1e-8,
    }


def plain(given: Any) -> dict[str, Tensor]:
    """The parameter after each of a few steps, without decay."""
    with given.own_work("torch.optim.AdamW", "torch.optim.Adam"):
        return _steps(given)


def _steps(given: Any) -> dict[str, Tensor]:
    from assignment.starter.adamw import AdamW

    parameter = torch.nn.Parameter(given["parameter"].clone())
    # Its first gradient comes with the third step.
    late = torch.nn.Parameter(given["late parameter"].clone())
    # Of another group, whose rate is its own.
    other = torch.nn.Parameter(given["other parameter"].clone())
    groups: Any = [
        {"params": [parameter, late]},
        {"params": [other], "lr": 3 * given.number("rate")},
    ]
    optimizer = AdamW(
        groups,
        lr=given.number("rate"),
        betas=(given.number("beta1"), given.number("beta2")),
        eps=given.number("eps"),
        weight_decay=given.number("decay"),
    )
    states = {}
    for number, gradient in enumerate(given["gradients"], start=1):
        parameter.grad = gradient.clone()
        other.grad = gradient.clone()
        if number > 2:
            late.grad = gradient.clone()
        optimizer.step()
        states[f"after step {number}"] = parameter.detach().clone()
    states["a parameter whose gradients come later"] = late.detach()
    return {**states, "a parameter with a rate of its own": other.detach()}


def draw_decayed(draw: Any) -> dict[str, Any]:
    """Return the same with weight decay."""
    return {**draw_plain(draw), "decay": 0.1 * draw.size(2, 9)}


def decayed(given: Any) -> dict[str, Tensor]:
    """The same with weight decay."""
    return plain(given)


def draw_tiny_gradients(draw: Any) -> dict[str, Any]:
    """Return gradients beside which epsilon counts."""
    drawn = draw_plain(draw)
    return {**drawn, "gradients": 1e-3 * drawn["gradients"], "eps": 1e-3}


def tiny_gradients(given: Any) -> dict[str, Tensor]:
    """The same with gradients as small as epsilon."""
    return plain(given)


# Case -> an easier one of the same function, and what that does without.
BEYOND = {
    "decayed": ("plain", "decay"),
    "tiny_gradients": ("plain", "an epsilon that counts"),
}
