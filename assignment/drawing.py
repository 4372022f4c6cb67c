"""Random inputs of a suite: the same seed draws the same sizes and weights. Feeds: suites."""

import numpy as np
from torch import nn

Arrays = dict[str, np.ndarray]


class Draw:
    """What the `draw_*` functions of the cases draw from.

    Args:
        seed: of all draws.
    """

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def size(self, least: int, most: int) -> int:
        """Return a whole number, both bounds included."""
        return int(self.random.integers(least, most + 1))

    def sizes(self, count: int, least: int, most: int) -> np.ndarray:
        """Return `count` different whole numbers, (count,) int64, both bounds included."""
        return self.random.choice(np.arange(least, most + 1), count, replace=False)

    def floats(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Return normal numbers, float32."""
        return (scale * self.random.standard_normal(shape)).astype(np.float32)

    def ints(self, below: int, *shape: int) -> np.ndarray:
        """Return whole numbers from 0 on, int64."""
        return self.random.integers(0, below, shape)

    def weights(self, module: nn.Module, prefix: str = "weights.", scale: float = 0.4) -> Arrays:
        """Return new values for all of a module's state, named as there after `prefix`.

        They are far from 0 and 1, so that each of them matters.
        """
        return {
            prefix + name: (scale * self.random.standard_normal(tensor.shape) + 0.1).astype("f4")
            for name, tensor in module.state_dict().items()
        }
