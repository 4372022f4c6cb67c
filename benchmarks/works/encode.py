"""Sentences to embeddings: 2,000 of CS224N's lengths, on bert-base's shape and on real MiniLM.

A round reads a fifth of them, the next round the next; on a GPU, all.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from benchmarks.material import Bench, bert_base, minilm
from benchmarks.measure import Side, Work, best_batch_size, expect
from benchmarks.peers import sentence_transformer
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops

COUNT = 2000


def works(bench: Bench) -> Iterator[Work]:
    """Yield both encoders' works."""
    parts = bench.parts_in_turn(bench.texts[:COUNT])
    for title, folder in {"bert-base shape": bert_base(bench), "MiniLM": minilm(bench)}.items():
        yield _work(f"encode, {title}", folder, parts, bench)


def _work(title: str, folder: Path, parts: list[list[str]], bench: Bench) -> Work:
    ours = SentenceEncoder.from_pretrained(str(folder), device=str(bench.device))
    default = sentence_transformer(folder, bench.device, torch.float32)
    best = sentence_transformer(folder, bench.device, bench.dtype)
    few = parts[0]
    check(ours.encode(few), default.encode(few), best.encode(few))
    size = best_batch_size(lambda n: best.encode(few, batch_size=n), bench.device)
    sides = [
        Side("minbert", lambda r: ours.encode(parts[r]), ours.dtype),
        Side("sentence-transformers", lambda r: default.encode(parts[r]), torch.float32),
        Side(
            f"sentence-transformers, {bench.precision}, batch {size}",
            lambda r: best.encode(parts[r], batch_size=size),
            bench.dtype,
        ),
    ]
    flops = [encoder_flops(ours.tokenize(part).lengths, ours.model.config) for part in parts]
    return Work(title, "sentences", [len(part) for part in parts], sides, flops)


def check(ours: np.ndarray, default: np.ndarray, best: np.ndarray) -> None:
    """Expect the same directions: cosines of 0.999; between the peer's two precisions, 0.99."""
    same = cosines(ours, default).min() >= 0.999
    expect(same, "embeddings of minbert and sentence-transformers")
    expect(cosines(best, default).min() >= 0.99, "sentence-transformers' own two precisions")


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (N,) cosines between rows."""
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / norms)
