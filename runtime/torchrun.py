"""What torchrun tells the processes that it starts. Loads no torch."""

import os

VARIABLES = ("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def rank() -> int:
    """Return which of torchrun's processes this is; 0 without it.

    Only all of its variables together count: clusters and shells leave a RANK of other meaning.
    """
    stated = [os.environ.get(name, "") for name in VARIABLES]
    return int(stated[1]) if all(stated) and stated[1].isdecimal() else 0
