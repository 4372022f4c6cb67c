"""Scoring 2,000 joined pairs with a cross-encoder: MiniLM's encoder and one linear layer.

A round scores a fifth of them, the next round the next; on a GPU, all. The quality of a side is the
correlation of its scores with float32's.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks import engines
from benchmarks.engines import Engine
from benchmarks.material import Bench, minilm
from benchmarks.measure import Side, Work, expect
from benchmarks.peers import cross_encoder
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops
from minbert.packing import PackedBatch, TokenSequences

COUNT = 2000


def works(bench: Bench) -> Iterator[Work]:
    """Yield the one work; the classifier's random weights are the peer's, on all sides."""
    pairs = list(zip(bench.texts[:COUNT], bench.texts[COUNT : 2 * COUNT], strict=True))
    parts = bench.parts_in_turn(pairs)
    few = parts[0]
    folder = with_classifier(bench)
    default = cross_encoder(folder, bench.device, torch.float32)
    best = cross_encoder(folder, bench.device, bench.dtype)
    classifier = default.model.classifier
    ours = SentenceEncoder.from_pretrained(
        str(minilm(bench)), pooling="cls", device=str(bench.device)
    ).freeze()
    calibration = list(zip(bench.texts[1:], bench.texts, strict=False))
    found, skipped = engines.load(bench, cross_encoder, folder, calibration)
    found.insert(0, Engine(bench.precision, best, bench.dtype))
    wanted = default.predict(few)
    own = score(ours, few, classifier)
    expect(float(np.abs(own - wanted).max()) < 0.05, "scores of minbert and CrossEncoder")

    int8, missing = engines.in_int8(bench, minilm(bench), "cls")

    def in_bytes(encoder: SentenceEncoder) -> Side:
        agreement = beside(wanted, score(encoder, few, classifier), "minbert, int8", False)
        read = partial(score, encoder, classifier=classifier)
        return Side("minbert, int8", lambda r: read(parts[r]), quality=agreement)

    def timed(other: Engine) -> Side:
        read = other.model.predict
        agreement = beside(wanted, read(few), other.name, other.dtype is not None)
        return engines.side("CrossEncoder", other, read, parts, agreement, bench.device)

    quality = beside(wanted, own, "minbert")
    sides = [
        Side("minbert", lambda r: score(ours, parts[r], classifier), ours.dtype, quality=quality),
        *map(in_bytes, int8),
        Side("CrossEncoder", lambda r: default.predict(parts[r]), torch.float32),
        *map(timed, found),
    ]
    flops = [encoder_flops(tokenize(ours, part).lengths, ours.model.config) for part in parts]
    amounts = [len(part) for part in parts]
    title = "cross-encoder scoring, MiniLM"
    yield Work(title, "pairs", amounts, sides, flops, [*missing, *skipped])


def with_classifier(bench: Bench) -> Path:
    """Write MiniLM with one random linear layer, so that every side has the same."""
    folder = bench.scratch / "cross"
    if not folder.exists():
        torch.manual_seed(0)
        cross_encoder(minilm(bench), bench.device, torch.float32).save_pretrained(str(folder))
    return folder


def beside(wanted: np.ndarray, found: np.ndarray, name: str, exact: bool = True) -> str:
    """Return the correlation with float32's scores; expect 0.995, but of int8."""
    correlation = float(np.corrcoef(found, wanted)[0, 1])
    expect(correlation > 0.995 or not exact, f"scores of CrossEncoder and of {name}")
    return f"correlation {correlation:.4f}"


def tokenize(encoder: SentenceEncoder, pairs: list[tuple[str, str]]) -> TokenSequences:
    """Return joined pairs."""
    return encoder.tokenize([a for a, _ in pairs], [b for _, b in pairs])


def score(
    encoder: SentenceEncoder, pairs: list[tuple[str, str]], classifier: torch.nn.Module
) -> np.ndarray:
    """Return one logit per pair, (N,), in batches of real tokens, longest first."""

    def judge(batch: PackedBatch) -> torch.Tensor:
        return classifier(encoder.embed(batch)).squeeze(-1)

    sequences = tokenize(encoder, pairs)
    scores = np.empty(len(pairs), np.float32)
    encoder.embed_all(sequences, scores, judge)
    return scores
