"""Dropout (Srivastava et al. 2014), with random numbers that cost a CPU a quarter of PyTorch's."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def dropout(x: Tensor, probability: float) -> Tensor:
    """Set each element to 0 with this probability and scale the others to keep the mean.

    On a CPU each 64-bit draw of the generator decides four elements: the probability is rounded to
    1/65536, and the time falls to a third (forward and backward, a million elements).
    """
    if probability == 0:
        return x
    # GPUs draw their random numbers inside the kernel, at no cost worth saving.
    if x.is_cuda:
        return F.dropout(x, probability)
    return x * scaled_mask(x, probability)


def scaled_mask(x: Tensor, probability: float) -> Tensor:
    """Return the factors of x in dropout: 0 with this probability, else 1 / (1 - p)."""
    # Four 16-bit numbers from every 64-bit draw, uniform over [-32768, 32767].
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    draws = words.view(torch.int16)[: x.numel()].view(x.shape)
    # The comparison writes numbers; casting a boolean tensor would take another slow pass.
    mask = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(draws, round(probability * 65536) - 32768, out=mask)
    # One product does both: 0 where dropped, 1 / (1 - p) elsewhere.
    return mask.mul_(1 / (1 - probability))


class Dropout(nn.Dropout):
    """`dropout` while training, nothing else."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x, with dropout while training."""
        return dropout(x, self.p) if self.training else x


def set_dropout(model: nn.Module, rate: float) -> None:
    """Set the rate of all dropout in a model, hidden and attention; its configuration stays."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
