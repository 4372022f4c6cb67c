"""Exact search on random vectors of 384 numbers, as in MiniLM; all sides are exact."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from sentence_transformers.util import semantic_search
from threadpoolctl import threadpool_limits

from benchmarks.engine import Side, Work, expect
from benchmarks.inputs import Bench
from evaluation.nearest import top_k

DIMENSIONS = 384
ROWS, QUERIES, K = 1_000_000, 100, 10
BLOCK = 16_384  # rows of a product


def search(bench: Bench) -> Iterator[Work]:
    """Yield the search."""
    rows = vectors(ROWS)
    with threadpool_limits(torch.get_num_threads()):  # also for products of NumPy and faiss
        yield _search(rows, bench.rounds)


def vectors(count: int) -> np.ndarray:
    """Return (count, DIMENSIONS) float32 of length 1."""
    rows = np.random.default_rng(0).standard_normal((count, DIMENSIONS), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _search(rows: np.ndarray, rounds: int) -> Work:
    queries, parts = rows[:: len(rows) // QUERIES], blocks(rows)

    def by_numpy() -> np.ndarray:
        scores = queries @ rows.T
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1)
        return np.take_along_axis(best, order, 1)

    def by_semantic_search() -> list[list[int]]:
        answers = semantic_search(torch.from_numpy(queries), torch.from_numpy(rows), top_k=K)
        return [[int(hit["corpus_id"]) for hit in hits] for hits in answers]

    sides: dict[str, Callable[[], Any]] = {
        "minbert": lambda: top_k(queries, parts, K)[1],
        "sentence-transformers, semantic_search": by_semantic_search,
        "numpy, one matrix and argpartition": by_numpy,
    }
    missing = []
    if find_spec("faiss"):
        import faiss

        index = faiss.IndexFlatIP(DIMENSIONS)
        index.add(rows)
        sides["faiss, IndexFlatIP"] = lambda: index.search(queries, K)[1]
    else:
        missing.append("faiss; pip install -r requirements-bench.txt")
    ours = sides["minbert"]()
    for name, run in sides.items():
        expect(bool((np.array(run()) == ours).all()), f"nearest rows of minbert and {name}")
    title = f"{K} nearest of {len(queries)} queries among {len(rows):,} vectors"
    return _work(title, "queries", len(queries), sides, rounds, missing)


def blocks(rows: np.ndarray) -> list[np.ndarray]:
    """Return the rows in blocks."""
    return [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]


def _work(
    title: str,
    unit: str,
    amount: int,
    sides: Mapping[str, Callable[[], Any]],
    rounds: int,
    skipped: Sequence[str] = (),
) -> Work:
    def side(name: str, run: Callable[[], Any]) -> Side:
        return Side(name, lambda r: run(), rounds=None if name == "minbert" else 2)

    every = [side(name, run) for name, run in sides.items()]
    return Work(title, unit, [amount] * rounds, every, skipped=skipped)
