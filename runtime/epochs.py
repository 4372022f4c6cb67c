"""Which rows a training step reads: every epoch has its own seeded order of all rows."""

import math
from functools import lru_cache

import numpy as np

from runtime.errors import TrainingError
from runtime.processes import world_size


def steps_per_epoch(count: int, batch_size: int) -> int:
    """Return the number of batches per epoch of `count` examples; all processes share each batch.

    A last batch with fewer examples than processes is left out; the next epoch has another order.

    Raises:
        TrainingError: a batch has fewer examples than there are processes.
    """
    if min(count, batch_size) < world_size():
        raise TrainingError(
            f"batches of {min(count, batch_size)} cannot feed {world_size()} processes"
        )
    return math.ceil((count - world_size() + 1) / batch_size)


def batch_rows(step: int, count: int, batch_size: int, seed: int) -> np.ndarray:
    """Return the rows of a step: every epoch reads all `count` rows in its own seeded order."""
    epoch, position = divmod(step, steps_per_epoch(count, batch_size))
    return _epoch_order(count, seed, epoch)[position * batch_size :][:batch_size]


@lru_cache(maxsize=8)  # pre-training reads rows in two orders, joint training in one per task
def _epoch_order(count: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(count)
