"""AdamW, the learning rate's schedule, and a check for diverged training."""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from runtime.errors import TrainingError


def adamw(
    modules: Iterable[tuple[nn.Module, float]], weight_decay: float, undecayed: Sequence[str] = ()
) -> torch.optim.AdamW:
    """Return AdamW over (module, learning rate) pairs.

    Matrices are decayed. Biases and layer norms, the parameters of one dimension, are not (BERT's
    rule), nor are those whose name contains one of `undecayed`.
    """
    groups = []
    for module, learning_rate in modules:
        decayed: list[nn.Parameter] = []
        plain: list[nn.Parameter] = []
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                bare = parameter.ndim < 2 or any(part in name for part in undecayed)
                (plain if bare else decayed).append(parameter)
        groups.append({"params": decayed, "lr": learning_rate, "weight_decay": weight_decay})
        groups.append({"params": plain, "lr": learning_rate, "weight_decay": 0.0})
    return torch.optim.AdamW(groups, eps=1e-8, fused=True)


def linear_schedule(
    optimizer: torch.optim.Optimizer,
    num_steps: int,
    warmup_ratio: float,
    decay_ratio: float = 1.0,
) -> LambdaLR:
    """Return a schedule: a linear rise to the learning rate, a plateau, a linear fall to 0.

    The rise takes the first `warmup_ratio` of the steps, the fall the last `decay_ratio`; with 1
    the fall begins where the rise ends.
    """
    return LambdaLR(optimizer, linear_factor(num_steps, warmup_ratio, decay_ratio))


def linear_factor(
    num_steps: int, warmup_ratio: float, decay_ratio: float = 1.0
) -> Callable[[int], float]:
    """Return what the learning rate is multiplied by in a step, counted from 0."""
    warmup = round(num_steps * warmup_ratio)
    decay = min(round(num_steps * decay_ratio), max(0, num_steps - warmup))

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return min(1.0, max(0, num_steps - step) / max(1, decay))

    return factor


def check_finite(value: float, step: int) -> None:
    """Stop a training run that has diverged, before it wastes hours.

    Raises:
        TrainingError: a loss or a logit is infinite or not a number.
    """
    if not math.isfinite(value):
        raise TrainingError(f"training diverged to {value} at step {step}; lower the learning rate")
