"""Arrays in files, of which a full disk is heard. Feeds: the index, the pre-training corpus."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np


def save_array(path: Path, array: np.ndarray) -> None:
    """Write a .npy file, as `numpy.save` does.

    NumPy hands an open file to the C library and does not ask whether its last bytes, up to a
    buffer's 4,096, arrived: on a full disk a file that lacks them would pass for whole. What is no
    file but can `write` gets all bytes from Python.

    Raises:
        OSError: it cannot be written whole.
    """
    with path.open("wb") as file:
        np.save(SimpleNamespace(write=file.write), array)
