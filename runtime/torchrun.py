"""The environment variables of torchrun. Loads no torch."""

import os

VARIABLES = ("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def rank() -> int:
    """Return the number of this process under torchrun; 0 without it.

    All variables of torchrun must be set, since clusters and shells use RANK for other purposes.
    """
    stated = [os.environ.get(name, "") for name in VARIABLES]
    return int(stated[1]) if all(stated) and stated[1].isdecimal() else 0
