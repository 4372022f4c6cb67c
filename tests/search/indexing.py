"""Little indexes of toy sentences, made by the command or by hand; little blocks of vectors."""

from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from search import build, nearest
from search import index as format_of_index
from search.__main__ import main

__all__ = ["command", "cut", "first_products", "small_parts", "unit_rows", "write_lines"]


def command(*words, precision: str = "float32") -> int:
    """Run a command line of `python -m search` in this process; return its exit code."""
    on_cpu = [] if words[0] == "pairs" else ["--device", "cpu", "--precision", precision]
    return main([*map(str, words), *on_cpu])


def write_lines(path: Path, count: int, seed: int = 0) -> list[str]:
    """Write toy sentences, one per line; return them."""
    texts = toy_sentences(count, seed)
    path.write_text("".join(f"{text}\n" for text in texts))
    return texts


def small_parts(monkeypatch, count: int) -> None:
    """Let parts of an index hold fewer texts."""
    for module in (build, format_of_index):
        monkeypatch.setattr(module, "PART", count)


def unit_rows(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    """Return random float32 rows of length 1."""
    rows = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cut(rows: np.ndarray, *sizes: int) -> list[np.ndarray]:
    """Cut rows into blocks of these sizes and one of the rest."""
    return np.split(rows, np.cumsum(sizes))


# What finds candidates on some machine: float32, bfloat16, bfloat16 that leaves too many of them.
WAYS = [(torch.float32, 100), (torch.bfloat16, 1), (torch.bfloat16, 10**9)]


@pytest.fixture(params=WAYS, ids=["float32", "bfloat16", "both"])
def first_products(request, monkeypatch):
    """Run a test with each kind of first products, whatever this processor has."""
    dtype, too_many = request.param
    monkeypatch.setattr(nearest, "choose_precision", lambda *which: dtype)
    monkeypatch.setattr(nearest, "TOO_MANY", too_many)
