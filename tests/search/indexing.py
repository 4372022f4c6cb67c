"""Little indexes of toy sentences, made by the command; little blocks of vectors."""

from pathlib import Path

import numpy as np
from conftest import toy_sentences

from search import index
from search.__main__ import main


def command(*words) -> int:
    """Run a command line of `python -m search` in this process; return its exit code."""
    on_cpu = [] if words[0] == "pairs" else ["--device", "cpu", "--precision", "float32"]
    on_cpu = on_cpu[:2] if words[0] == "threshold" else on_cpu
    return main([*map(str, words), *on_cpu])


def write_lines(path: Path, count: int, seed: int = 0) -> list[str]:
    """Write toy sentences, one per line; return them."""
    texts = toy_sentences(count, seed)
    path.write_text("".join(f"{text}\n" for text in texts))
    return texts


def small_parts(monkeypatch, count: int) -> None:
    """Let parts of an index hold fewer texts."""
    monkeypatch.setattr(index, "PART", count)
    monkeypatch.setattr(index, "STEP", 3)


def unit_rows(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    """Return random float32 rows of length 1."""
    rows = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cut(rows: np.ndarray, *sizes: int) -> list[np.ndarray]:
    """Cut rows into blocks of these sizes and one of the rest."""
    return np.split(rows, np.cumsum(sizes))
