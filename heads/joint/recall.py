"""Recall: while a task is new, the encoder is pulled back to the weights it came with.

RecAdam (Chen et al. 2020, arXiv:2004.12651, algorithm 1): with lambda rising from 0 to 1,
theta <- theta - rate (lambda adam(gradient) + (1 - lambda) gamma (theta - theta*)).
The pull is outside of Adam, which would scale it away. Feeds: training.
"""

import math
from typing import Any

import torch
from torch import nn


class Recall:
    """The pull to where an encoder was when its phase began.

    Before the first phase these are the pre-trained weights, as published; before later ones, what
    the tasks so far have made of them.

    Args:
        model: the encoder.
        strength: gamma times the learning rate at its highest: the share of the way back in a step
            while lambda is 0.
    """

    def __init__(self, model: nn.Module, strength: float):
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.strength = strength
        self.anchor()

    def anchor(self) -> None:
        """Let the present weights be what is recalled."""
        self.anchors = [parameter.detach().clone() for parameter in self.parameters]

    def pull(self, learnt: float, factor: float) -> None:
        """Move the weights back by a share of the way: strength (1 - lambda) factor.

        Args:
            learnt: lambda.
            factor: what the schedule multiplies learning rates by.
        """
        share = self.strength * (1 - learnt) * factor
        with torch.no_grad():
            for parameter, anchor in zip(self.parameters, self.anchors, strict=True):
                parameter.lerp_(anchor, share)

    def state_dict(self) -> dict[str, Any]:
        return {"anchors": self.anchors}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for anchor, saved in zip(self.anchors, state["anchors"], strict=True):
            anchor.copy_(saved)


def annealed(place: float) -> float:
    """Return lambda = 1 / (1 + exp(-k (t - t0))) at a place from 0 to 1 in a phase.

    t0 is the middle, and k 20 per phase: 0.00005 at first, 0.99995 in the end.
    """
    return 1 / (1 + math.exp(-20 * (place - 0.5)))
