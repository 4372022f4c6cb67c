"""Writes a file of 1 GB."""

from pathlib import Path


def double(values):
    with Path("large.bin").open("wb") as file:
        for _ in range(64):
            file.write(bytes(16 << 20))
    return 2 * values
