"""Arrays are written whole, or it is an error."""

import resource

import numpy as np
import pytest

from runtime.files import save_array


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_an_array_is_read_as_it_was(dtype, tmp_path):
    array = np.arange(12, dtype=dtype).reshape(3, 4)
    save_array(tmp_path / "a.npy", array)
    found = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert found.dtype == dtype and np.array_equal(found, array)


@pytest.mark.parametrize("room", [0, 100, 200, 1000])
def test_no_room_for_the_last_bytes_is_an_error(room, tmp_path):
    """A limit of a file's length stands for a full disk: NumPy alone notices none of the last."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(OSError):
            save_array(tmp_path / "a.npy", np.zeros(300, np.float32))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
