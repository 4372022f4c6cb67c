"""Random numbers: one seed for every generator, and their states. Feeds: the training loops."""

import random
from typing import Any

import numpy as np
import torch


def set_seed(seed: int) -> None:
    """Seed every generator in use."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def random_state() -> dict[str, Any]:
    """Return the states of torch's generators, which draw dropout and masking."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def restore_random_state(state: dict[str, Any]) -> None:
    """Set the generators back to a state that `random_state` returned."""
    torch.set_rng_state(state["cpu"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
