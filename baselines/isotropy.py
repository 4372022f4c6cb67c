"""Maps that spread sentence vectors over all directions: BERT-whitening and BERT-flow.

BERT's vectors fill space unevenly: they lie in a narrow cone, where all cosines are high, with
frequent words in its middle and rare ones scattered. Both maps are fitted to the unlabelled
sentences of the scored set; the encoder is not changed, and cosines are computed after the map.
Legend: N vectors, D numbers of each, K of them kept.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from baselines.embedder import Embedder
from runtime.errors import TrainingError
from runtime.training import random_state, restore_random_state

# Below this share of the largest variance a direction holds rounding errors only.
NO_VARIANCE = 1e-10

Map = Callable[[np.ndarray], np.ndarray]  # vectors (N, D) -> (N, K), float32


def whitened(base: Embedder, size: int | None = None) -> Embedder:
    """Return an Embedder whose `adapt` fits a whitening of the vectors of `base` to sentences."""
    name = f"{base.name}, whitening" + (f" {size}" if size else "")
    return _mapped(base, name, lambda vectors: fit_whitening(vectors, size))


def flowed(base: Embedder, config: "FlowConfig | None" = None) -> Embedder:
    """Return an Embedder whose `adapt` fits a flow to the vectors of sentences."""

    def fit(vectors: np.ndarray) -> Map:
        flow = fit_flow(vectors, config)

        @torch.no_grad()
        def through(vectors: np.ndarray) -> np.ndarray:
            return np.asarray(flow(torch.from_numpy(np.array(vectors, np.float32)))[0])

        return through

    return _mapped(base, f"{base.name}, flow", fit)


def _mapped(base: Embedder, name: str, fit: Callable[[np.ndarray], Map]) -> Embedder:
    """Return an Embedder that gives the unchanged vectors of `base` until it is adapted."""
    embed = base.embed
    assert embed is not None, "only vectors can be mapped"

    def adapt(texts: Sequence[str]) -> Embedder:
        # A sentence that many pairs share counts once.
        change = fit(np.asarray(embed(list(dict.fromkeys(texts)))))
        return replace(unfitted, embed=lambda texts: change(np.asarray(embed(texts))))

    unfitted = Embedder(name, embed, None, adapt)
    return unfitted


def fit_whitening(vectors: np.ndarray, size: int | None = None) -> Map:
    """Return the whitening of `vectors`, (N, D): x -> (x - mean) W (Su et al. 2021).

    With the covariance U S U^T, W = U sqrt(1/S) gives W^T U S U^T W = I (paper, equations 5 to 7):
    mean 0, and equal variance in all directions. The first K columns belong to the largest
    variances, so keeping only those loses least.

    Args:
        vectors: of the sentences to adapt to.
        size: K; None keeps every direction in which the vectors vary at all.

    Raises:
        TrainingError: fewer than two vectors.
    """
    if len(vectors) < 2:
        raise TrainingError(f"whitening needs two or more vectors, got {len(vectors)}")
    # Small differences of large sums, hence float64.
    wide = vectors.astype(np.float64)
    mean = wide.mean(axis=0)
    covariance = np.atleast_2d(np.cov(wide, rowvar=False))  # (D, D)
    # Symmetric, so its singular vectors are its eigenvectors, largest variance first.
    directions, variances, _ = np.linalg.svd(covariance)
    # N vectors span at most N - 1 directions; 1/S of the others would amplify noise without bound.
    varying = variances > NO_VARIANCE * max(variances[0], np.finfo(np.float64).tiny)
    kept = min(int(varying.sum()), size or len(varying))
    matrix = directions[:, :kept] / np.sqrt(variances[:kept])  # (D, K), the W of the paper
    return lambda vectors: ((vectors - mean) @ matrix).astype(np.float32)


# --- BERT-flow (Li et al. 2020) in short
#
# A normalizing flow is an invertible function, trained until the vectors of many sentences look
# like draws from N(0, I). As in the paper it is Glow (Kingma and Dhariwal 2018), with additive
# coupling and random permutations in place of affine coupling and 1x1 convolutions.


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
    """Actnorm, a random permutation, additive coupling; each of them can be undone."""

    def __init__(self, size: int, width: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))
        self.log_scale = nn.Parameter(torch.zeros(size))
        # Coupling changes one half by the other; permutations mix all numbers.
        self.order: Tensor
        self.register_buffer("order", torch.randperm(size))
        self.cut = size // 2
        # m, any function at all: it need not be invertible itself.
        last = nn.Linear(width, size - self.cut)
        self.shift = nn.Sequential(
            nn.Linear(self.cut, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            last,
        )
        # Zeros in the last layer: the coupling begins as the identity (Glow, section 3.3).
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    @torch.no_grad()
    def normalise(self, x: Tensor) -> None:
        """Start actnorm so that it gives these vectors, (N, D), mean 0 and variance 1."""
        self.bias.copy_(-x.mean(dim=0))
        # A constant number would need an infinite scale; its scale is not changed.
        spread = x.std(dim=0, correction=0)
        self.log_scale.copy_(-torch.where(spread > 1e-6, spread, 1.0).log())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the image of (N, D) vectors, and the logarithm of |det| of the Jacobian."""
        # Actnorm scales number i by exp(s_i): the determinant is the product of these.
        x = (x + self.bias) * self.log_scale.exp()
        # A permutation keeps volumes, and so does the coupling, whose Jacobian is triangular
        # with ones on its diagonal: y1 = x1, y2 = x2 + m(x1). It is undone without inverting m:
        # y1 is x1, and x2 = y2 - m(y1).
        first, second = x[:, self.order].tensor_split([self.cut], dim=1)
        return torch.cat([first, second + self.shift(first)], dim=1), self.log_scale.sum()


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
    # Uses separate random numbers and does not change the state of the global generator.
    before = random_state()
    torch.manual_seed(config.seed)
    try:
        flow = Flow(x.shape[1], config)
        # All vectors initialise the actnorms, which are then trained by gradients.
        with torch.no_grad():
            flow(x, start=True)
        optimizer = torch.optim.Adam(flow.parameters(), lr=config.learning_rate)
        for _ in range(config.num_steps):
            rows = torch.randint(len(x), (min(config.batch_size, len(x)),))
            # The higher the likelihood, the more evenly the images fill the Gaussian.
            loss = -flow.log_likelihood(x[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        restore_random_state(before)
    return flow.eval().requires_grad_(False)
