"""Gradient surgery: what a task's gradient has against another's is cut off (PCGrad).

Legend: K tasks, P numbers in the parameters that they share. Feeds: training.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def without_conflicts(gradients: Tensor) -> Tensor:
    """Return the sum of the tasks' gradients, each projected where it conflicts with another's.

    Yu et al. 2020 (arXiv:2001.06782), algorithm 1: while g_i . g_j < 0, for the other tasks j in
    random order, g_i becomes g_i - (g_i . g_j) / |g_j|^2 g_j, where g_j is as it was.

    Args:
        gradients: (K, P).

    Returns:
        (P,).
    """
    total = torch.zeros_like(gradients[0])
    squares = (gradients**2).sum(dim=1)
    for own, gradient in enumerate(gradients):
        projected = gradient.clone()
        for other in torch.randperm(len(gradients)).tolist():
            product = projected @ gradients[other]
            # A vanished gradient conflicts with nothing.
            if other != own and product < 0:
                projected -= product / squares[other] * gradients[other]
        total += projected
    return total


def take_gradient(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Return the gradients in one row (P,), zeros where there is none, and clear them."""
    found = [
        torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for parameter in parameters
    ]
    for parameter in parameters:
        parameter.grad = None
    return torch.cat([gradient.flatten() for gradient in found])


def put_gradient(parameters: Sequence[nn.Parameter], gradient: Tensor) -> None:
    """Make a row (P,) the gradients of the parameters."""
    parts = gradient.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter)
