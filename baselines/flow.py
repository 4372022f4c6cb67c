"""BERT-flow: an invertible map from sentence vectors to a Gaussian (Li et al. 2020), in small.

BERT's vectors fill space unevenly: frequent words crowd, rare ones scatter. A normalizing flow is
an invertible function, trained until the vectors of many sentences look like draws from N(0, I);
cosines are then taken there. The encoder stays fixed, and no label is needed.
As in the paper the flow is Glow (Kingma and Dhariwal 2018), with additive coupling and random
permutations in place of affine coupling and 1x1 convolutions.
Legend: N vectors, D numbers of each. Reads: embedder. Feeds: table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from baselines.embedder import Embedder
from runtime.errors import TrainingError
from runtime.seeds import random_state, restore_random_state


@dataclass(frozen=True)
class FlowConfig:
    """The sizes and the training of a flow."""

    # Sizes, and the learning rate, of the paper's published code (config_l3_d3_w32).
    levels: int = 3
    depth: int = 3
    width: int = 32
    learning_rate: float = 1e-3
    # The paper trains one epoch on up to a million sentences; a set that is scored has thousands.
    batch_size: int = 256
    num_steps: int = 500
    seed: int = 42


class FlowStep(nn.Module):
    """Actnorm, a random permutation, additive coupling; each of them undone by `inverse`."""

    def __init__(self, size: int, width: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))
        self.log_scale = nn.Parameter(torch.zeros(size))
        # Coupling changes one half by the other; permuted, all numbers meet each other.
        self.order: Tensor
        self.register_buffer("order", torch.randperm(size))
        self.cut = size // 2
        # m, any function at all: it need not be invertible itself.
        last = nn.Linear(width, size - self.cut)
        self.shift = nn.Sequential(
            *(nn.Linear(self.cut, width), nn.ReLU()),
            *(nn.Linear(width, width), nn.ReLU()),
            last,
        )
        # Zeros in the last layer: the coupling begins as the identity (Glow, section 3.3).
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    @torch.no_grad()
    def normalise(self, x: Tensor) -> None:
        """Start actnorm so that it gives these vectors, (N, D), mean 0 and variance 1."""
        self.bias.copy_(-x.mean(dim=0))
        # A number that never varies would ask for an infinite scale; it keeps its own.
        spread = x.std(dim=0, correction=0)
        self.log_scale.copy_(-torch.where(spread > 1e-6, spread, 1.0).log())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the image of (N, D) vectors, and the logarithm of |det| of the Jacobian."""
        # Actnorm scales number i by exp(s_i): the determinant is the product of these.
        x = (x + self.bias) * self.log_scale.exp()
        # A permutation keeps volumes, and so does the coupling, whose Jacobian is triangular
        # with ones on its diagonal: y1 = x1, y2 = x2 + m(x1).
        first, second = x[:, self.order].tensor_split([self.cut], dim=1)
        return torch.cat([first, second + self.shift(first)], dim=1), self.log_scale.sum()

    def inverse(self, y: Tensor) -> Tensor:
        """Return the vectors (N, D) that `forward` maps to y."""
        # y1 is x1, so what was added to the other half is known. m itself is never inverted.
        first, second = y.tensor_split([self.cut], dim=1)
        x = torch.cat([first, second - self.shift(first)], dim=1)[:, self.order.argsort()]
        return x * (-self.log_scale).exp() - self.bias


class Flow(nn.Module):
    """Levels of steps; after each level half of the numbers are final, as in Glow's multi-scale."""

    def __init__(self, size: int, config: FlowConfig):
        super().__init__()
        # Lists of FlowStep in a list; to mypy the items of a ModuleList are no lists.
        self.levels: Any = nn.ModuleList()
        for _ in range(config.levels):
            # What remains is halved; a single number has nothing to be coupled with.
            if size < 2:
                break
            steps = (FlowStep(size, config.width) for _ in range(config.depth))
            self.levels.append(nn.ModuleList(steps))
            size -= size // 2

    def forward(self, x: Tensor, start: bool = False) -> tuple[Tensor, Tensor]:
        """Return z, (N, D), and log |det dz/dx|, a scalar as additive coupling keeps volumes.

        Args:
            x: sentence vectors, (N, D).
            start: set each actnorm by the vectors that arrive at it.
        """
        finished, log_det = [], x.new_zeros(())
        for level in self.levels:
            for step in level:
                if start:
                    step.normalise(x)
                x, volume = step(x)
                log_det = log_det + volume
            # The first half is final, the second goes on to the next level.
            done, x = x.tensor_split([x.shape[1] // 2], dim=1)
            finished.append(done)
        return torch.cat([*finished, x], dim=1), log_det

    def inverse(self, z: Tensor) -> Tensor:
        """Return the vectors (N, D) that `forward` maps to z."""
        # The same cuts as in forward, then the levels from the last to the first.
        finished = []
        for _ in self.levels:
            done, z = z.tensor_split([z.shape[1] // 2], dim=1)
            finished.append(done)
        for level in reversed(self.levels):
            z = torch.cat([finished.pop(), z], dim=1)
            for step in reversed(level):
                z = step.inverse(z)
        return z

    def log_likelihood(self, x: Tensor) -> Tensor:
        """Return log p(x) of each vector, (N,): log N(z; 0, I) + log |det dz/dx| (equation 2)."""
        z, log_det = self(x)
        # The density of z, times the volume that the map gives to a unit of volume around x.
        normal = -0.5 * (z.square().sum(dim=1) + x.shape[1] * math.log(2 * math.pi))
        return normal + log_det


def fit_flow(vectors: np.ndarray, config: FlowConfig | None = None) -> Flow:
    """Return a flow trained by maximum likelihood on `vectors`, (N, D); seeded.

    Raises:
        TrainingError: fewer than two vectors, or none that vary: there is nothing to learn.
    """
    config = config or FlowConfig()
    x = torch.from_numpy(np.array(vectors, np.float32))
    if len(x) < 2 or not bool((x != x[0]).any()):
        raise TrainingError("a flow needs two or more different vectors; adapt it to more texts")
    # Its draws are its own: the generator that others use goes on as if nothing had been drawn.
    before = random_state()
    torch.manual_seed(config.seed)
    try:
        flow = Flow(x.shape[1], config)
        # All vectors at once set the actnorms; from there on gradients do.
        with torch.no_grad():
            flow(x, start=True)
        optimizer = torch.optim.Adam(flow.parameters(), lr=config.learning_rate)
        for _ in range(config.num_steps):
            rows = torch.randint(len(x), (min(config.batch_size, len(x)),))
            # The more likely the vectors, the more evenly their images fill the Gaussian.
            loss = -flow.log_likelihood(x[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        restore_random_state(before)
    return flow.eval().requires_grad_(False)


def flowed(base: Embedder, config: FlowConfig | None = None) -> Embedder:
    """Return an Embedder whose `adapt` fits a flow on the vectors of the sentences given.

    Before that it gives the vectors of `base` as they are.
    """
    embed = base.embed
    assert embed is not None, "a flow needs vectors"

    def adapt(texts: Sequence[str]) -> Embedder:
        flow = fit_flow(np.asarray(embed(list(dict.fromkeys(texts)))), config)

        def mapped(texts: Sequence[str]) -> np.ndarray:
            with torch.no_grad():
                z, _ = flow(torch.from_numpy(np.array(embed(texts), np.float32)))
            return np.asarray(z)

        return replace(unfitted, embed=mapped)

    unfitted = Embedder(f"{base.name}, flow", embed, None, adapt)
    return unfitted
