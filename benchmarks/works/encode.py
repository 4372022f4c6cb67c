"""Sentences to embeddings: 2,000 of CS224N's lengths; bert-base's shape, real MiniLM, and mini.

A round reads a fifth of them, the next round the next; on a GPU, all. The quality of a side is that
of its embeddings beside float32's: what Spearman's correlation on STS gains or loses or, of random
weights, the mean cosine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks import engines
from benchmarks.engines import Engine
from benchmarks.material import Bench, bert_base, minilm
from benchmarks.measure import Side, Work, expect
from benchmarks.peers import sentence_transformer
from data.examples import SentencePair
from evaluation.sts import Encode, sts_metrics
from evaluation.sts import pair_cosines as cosines
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops
from minbert.hub import MINI

COUNT = 2000
CHECKED = 64  # texts that the sides are compared on first


def works(bench: Bench) -> Iterator[Work]:
    """Yield the encoders' works; random weights have no Spearman, and int8 no meaning for them."""
    yield _work("encode, bert-base shape", bert_base(bench), bench, ())
    yield _work("encode, MiniLM", minilm(bench), bench, bench.similar)
    yield _work("encode, mini", MINI, bench, bench.similar)


def _work(title: str, folder: Path, bench: Bench, pairs: Sequence[SentencePair]) -> Work:
    parts = bench.parts_in_turn(bench.texts[:COUNT])
    few = parts[0][:CHECKED]
    ours = SentenceEncoder.from_pretrained(str(folder), device=str(bench.device))
    default = sentence_transformer(folder, bench.device, torch.float32)
    best = sentence_transformer(folder, bench.device, bench.dtype)
    check(ours.encode(few), default.encode(few), best.encode(few))
    found, skipped = engines.load(
        bench, sentence_transformer, folder, [(text,) for text in bench.texts[COUNT:]], bool(pairs)
    )
    # Random weights have no Spearman, and no int8 here.
    int8, missing = engines.in_int8(bench, folder) if pairs else ([], [])
    for other in found:
        same = other.dtype is None or cosines(other.model.encode(few), default.encode(few)) >= 0.99
        expect(bool(np.all(same)), f"embeddings of sentence-transformers, {other.name}")
    wanted = correlation(default.encode, pairs) if pairs else default.encode(few)
    quality = partial(beside, wanted, few, pairs)
    once = None if pairs else 1  # float32 on bert-base's shape

    def timed(other: Engine) -> Side:
        read = other.model.encode
        made = engines.side(
            "sentence-transformers", other, read, parts, quality(read), bench.device
        )
        return replace(made, rounds=once) if other.dtype == torch.float32 else made

    def in_bytes(own: SentenceEncoder) -> Side:
        return Side("minbert, int8", lambda r: own.encode(parts[r]), quality=quality(own.encode))

    sides = [
        Side("minbert", lambda r: ours.encode(parts[r]), ours.dtype, quality=quality(ours.encode)),
        *map(in_bytes, int8),
        Side(
            "sentence-transformers", lambda r: default.encode(parts[r]), torch.float32, rounds=once
        ),
        *map(timed, [Engine(bench.precision, best, bench.dtype), *found]),
    ]
    flops = [encoder_flops(ours.tokenize(part).lengths, ours.model.config) for part in parts]
    return Work(
        title, "sentences", [len(part) for part in parts], sides, flops, [*missing, *skipped]
    )


def check(ours: np.ndarray, default: np.ndarray, best: np.ndarray) -> None:
    """Expect the same directions: cosines of 0.999; between the peer's two precisions, 0.99."""
    same = cosines(ours, default).min() >= 0.999
    expect(same, "embeddings of minbert and sentence-transformers")
    expect(cosines(best, default).min() >= 0.99, "sentence-transformers' own two precisions")


def beside(
    wanted: float | np.ndarray,
    texts: Sequence[str],
    pairs: Sequence[SentencePair],
    encode: Encode,
) -> str:
    """Return by how much Spearman's correlation on `pairs` exceeds the wanted one.

    Without pairs: the mean cosine with the wanted embeddings of `texts`.
    """
    if pairs:
        return f"Spearman {correlation(encode, pairs) - float(wanted):+.4f}"
    return f"cosine {cosines(encode(texts), np.asarray(wanted)).mean():.4f}"


def correlation(encode: Encode, pairs: Sequence[SentencePair]) -> float:
    """Return Spearman's correlation of the texts' cosines with the pairs' labels."""
    return sts_metrics(encode, pairs)["spearman"] or 0.0
