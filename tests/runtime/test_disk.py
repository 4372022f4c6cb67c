"""What cannot be written is named, with the reason, the need and what to do."""

import errno
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from runtime.errors import DiskError
from runtime.files import (
    file_digest,
    open_file,
    open_plain,
    save_array,
    whole_file,
    whole_folder,
    write_text,
)
from runtime.training import save_training


@contextmanager
def at_most(size):
    """Let no file grow beyond a size in bytes, as `ulimit -f` and much like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def text(path):
    write_text(path, "x" * 10_000)


def array(path):
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.zeros(10_000))


def folder(path):
    with whole_folder(path) as temporary:
        (temporary / "x").write_bytes(b"x" * 10_000)


def state(path):
    save_training(path, {"module": torch.nn.Linear(99, 99)}, {})


@pytest.mark.parametrize("write", [text, array, folder, state])
def test_what_cannot_be_written_is_named_and_not_there(write, tmp_path):
    wanted = r"/there: cannot be written \(.+\); "
    with at_most(4096), pytest.raises(DiskError, match=wanted) as told:
        write(tmp_path / "there")
    assert "\n" not in str(told.value) and not list(tmp_path.iterdir())
    write(tmp_path / "there")


ROOM = r"more than 3 bytes are needed, [\d,]+ are free\); free some space"


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, ROOM),
        (errno.EDQUOT, ROOM),
        (errno.EFBIG, r"\); raise the limit"),
        (errno.EROFS, r"\); name another place"),
        (errno.EACCES, r"\); name another place"),
    ],
)
def test_each_reason_has_its_advice(number, advice, tmp_path):
    wrong = os.strerror(number)
    wanted = rf"new/a: cannot be written \({wrong}.*{advice}"
    with pytest.raises(DiskError, match=wanted), whole_file(tmp_path / "new" / "a") as temporary:
        temporary.write_text("abc")
        raise OSError(number, wrong)


def test_errors_of_other_files_stay_as_they_are(tmp_path):
    with pytest.raises(OSError, match="read") as told, whole_file(tmp_path / "a"):
        raise OSError(errno.EACCES, "read", str(tmp_path / "input"))
    assert not isinstance(told.value, DiskError)


def test_nothing_waits_for_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in (open_file, file_digest):
        with pytest.raises(OSError, match="a pipe or a device"):
            read(pipe)
    with pytest.raises(DiskError, match="a pipe or a device"):
        text(pipe)
    assert pipe.is_fifo()
    read, write = os.pipe()  # as `<(...)` hands it down
    os.write(write, b"abc")
    os.close(write)
    with open_file(Path(f"/dev/fd/{read}")) as file:
        assert file.read() == b"abc"
    os.close(read)


def test_a_folder_is_no_file_to_write():
    with pytest.raises(DiskError, match=r"\.: is a folder; name a file"):
        text(Path("."))


@pytest.mark.parametrize("name", ["half a \ud800", "nul \0"])
def test_what_cannot_be_a_name_is_an_error_of_reading(name, tmp_path):
    with pytest.raises(OSError, match="not a valid file name"):
        open_plain(f"{tmp_path}/{name}")


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_an_array_is_read_as_it_was(dtype, tmp_path):
    array = np.arange(12, dtype=dtype).reshape(3, 4)
    save_array(tmp_path / "a.npy", array)
    found = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert found.dtype == dtype and np.array_equal(found, array)


@pytest.mark.parametrize("room", [0, 1000])
def test_no_room_for_the_last_bytes_is_an_error(room, tmp_path):
    """NumPy alone notices none of the last."""
    with at_most(room), pytest.raises(OSError):
        save_array(tmp_path / "a.npy", np.zeros(300, np.float32))
