"""The pairs that other libraries score in tests, toy and real, and the two models compared."""

import random
from pathlib import Path

from conftest import real_data, toy_sentences

from data.examples import SentencePair
from minbert.encoder import SentenceEncoder


def toy_pairs(count: int) -> list[SentencePair]:
    """Return pairs of toy sentences with made-up similarities from 0 to 5."""
    draw = random.Random(0)
    sides = zip(toy_sentences(count, 1), toy_sentences(count, 2), strict=True)
    return [SentencePair(str(i), a, b, draw.randrange(51) / 10) for i, (a, b) in enumerate(sides)]


def benchmark_pairs() -> list[SentencePair]:
    """Return the test pairs of the official STS-Benchmark, or skip the test."""
    path: Path = real_data("sts/STSBenchmark/sts-test.csv")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [SentencePair(row[3], row[5], row[6], float(row[4])) for row in rows]


def both_models(folder: str, reference: type) -> tuple[SentenceEncoder, object]:
    """Return our encoder and the SentenceTransformer of one folder, in float32 on the CPU."""
    own = SentenceEncoder.from_pretrained(folder, device="cpu", precision="float32")
    return own, reference(folder, device="cpu")
