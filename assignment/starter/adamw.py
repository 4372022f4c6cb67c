"""AdamW by hand (Loshchilov and Hutter 2019, algorithm 2); the project itself uses torch's.

Legend: theta the parameter, g its gradient, m and v the running means of g and of g^2.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class AdamW(torch.optim.Optimizer):
    """Adam with weight decay that is not part of the gradient.

    Args:
        params: what to optimise.
        lr: the learning rate.
        betas: how slowly the two means forget.
        eps: keeps the division from exploding.
        weight_decay: the share of a parameter that one step at rate 1 takes away.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "decay": weight_decay})

    # torch's own returns a loss where it is given a closure; this one takes none.
    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient, once."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.update(parameter, parameter.grad, self.state[parameter], group)

    def update(
        self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        """Change one parameter in place.

        Args:
            parameter, gradient: of one shape.
            state: empty before the first step; what it holds is kept for the next one.
            group: the settings `lr`, `betas`, `eps` and `decay`.
        """
        beta1, beta2 = group["betas"]
        step = state["step"] = state.get("step", 0) + 1
        if step == 1:
            state["mean"] = torch.zeros_like(parameter)
            state["square"] = torch.zeros_like(parameter)
        mean = state["mean"] = beta1 * state["mean"] + (1 - beta1) * gradient
        square = state["square"] = beta2 * state["square"] + (1 - beta2) * gradient**2
        # Both means began at 0 and are too small in the first steps, by a known factor.
        mean = mean / (1 - beta1**step)
        square = square / (1 - beta2**step)
        # Decay acts on the parameter itself, so that it is not divided by the root below.
        parameter.mul_(1 - group["lr"] * group["decay"])
        parameter.sub_(group["lr"] * mean / (square.sqrt() + group["eps"]))
