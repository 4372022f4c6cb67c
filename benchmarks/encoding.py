"""Benchmarks of embedding and pair scoring, compared with sentence-transformers and its engines.

Each round reads the next fifth of the texts; on a GPU, all texts. The quality of a side compares
its results with those in float32.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks import peers
from benchmarks.engine import Side, Work, expect
from benchmarks.inputs import Bench, bert_base, minilm
from benchmarks.peers import Engine
from data.examples import SentencePair
from evaluation.cosine import Encode, sts_metrics
from evaluation.cosine import pair_cosines as cosines
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops
from minbert.hub import MINI, find_checkpoint
from minbert.packing import PackedBatch, TokenSequences
from runtime.errors import MachineError

COUNT = 2000  # sentences, or pairs
LARGE = 1000  # sentences, for bert-base's shape
CHECKED = 64  # texts on which the sides' results are compared first


def encode(bench: Bench) -> Iterator[Work]:
    """Yield the works of the encoders: bert-base's shape, real MiniLM, and mini; or a named one.

    Quality is the change of Spearman's correlation on STS, or the mean cosine for random weights,
    which have no meaningful correlation. int8 is not meaningful for random weights.
    """
    if bench.checkpoint:
        folder = find_checkpoint(bench.checkpoint)
        yield _encode(f"encode, {folder.name}", folder, bench, bench.similar)
        return
    yield _encode("encode, bert-base shape", bert_base(bench), bench, ())
    yield _encode("encode, MiniLM", minilm(bench), bench, bench.similar)
    yield _encode("encode, mini", MINI, bench, bench.similar)


def _encode(title: str, folder: Path, bench: Bench, pairs: Sequence[SentencePair]) -> Work:
    parts = bench.parts_in_turn(bench.texts[: COUNT if pairs else LARGE])
    few = parts[0][:CHECKED]
    ours = SentenceEncoder.from_pretrained(str(folder), device=str(bench.device))
    default = peers.sentence_transformer(folder, bench.device, torch.float32)
    best = peers.sentence_transformer(folder, bench.device, bench.dtype)
    directions = default.encode(few)
    same = cosines(ours.encode(few), directions).min() >= 0.999
    expect(same, "embeddings of minbert and sentence-transformers")
    same = cosines(best.encode(few), directions).min() >= 0.99
    expect(same, "sentence-transformers' own two precisions")
    calibration = [(text,) for text in bench.texts[COUNT:]]
    others, skipped = peers.engines(
        bench, peers.sentence_transformer, folder, calibration, best_only=not pairs
    )
    agreeing = []
    for other in others:
        agreement = cosines(other.model.encode(few), directions)
        if agreement.mean() >= 0.95 if other.dtype is None else agreement.min() >= 0.99:
            agreeing.append(other)
        else:
            skipped.append(f"{other.name}: other embeddings, mean cosine {agreement.mean():.3f}")
    wanted = correlation(default.encode, pairs) if pairs else 0.0

    def quality(encode: Encode) -> str:
        if pairs:
            return f"Spearman {correlation(encode, pairs) - wanted:+.4f}"
        return f"cosine {cosines(encode(few), directions).mean():.4f}"

    def our_side(name: str, encoder: SentenceEncoder, dtype: torch.dtype | None) -> Side:
        read = encoder.encode
        return Side(name, lambda r: read(parts[r]), dtype, quality=quality(read))

    sides = [our_side("minbert", ours, ours.dtype)]
    if pairs:
        int8, missing = in_int8(bench, folder)
        skipped = [*missing, *skipped]
        sides += [our_side("minbert, int8", encoder, None) for encoder in int8]
    once = None if pairs else 1  # float32 on bert-base's shape
    plain = Side("sentence-transformers", lambda r: default.encode(parts[r]), torch.float32)
    sides.append(replace(plain, rounds=once))
    for other in [Engine(bench.precision, best, bench.dtype), *agreeing]:
        read = other.model.encode
        side = other.side("sentence-transformers", read, parts, quality(read), bench.device)
        sides.append(replace(side, rounds=once) if other.dtype == torch.float32 else side)
    flops = [encoder_flops(ours.tokenize(part).lengths, ours.model.config) for part in parts]
    return Work(title, "sentences", [len(part) for part in parts], sides, flops, skipped)


def correlation(encode: Encode, pairs: Sequence[SentencePair]) -> float:
    """Return Spearman's correlation of the texts' cosines with the pairs' labels."""
    return sts_metrics(encode, pairs)["spearman"] or 0.0


def in_int8(
    bench: Bench, folder: Path, pooling: str | None = None
) -> tuple[list[SentenceEncoder], list[str]]:
    """Return minbert's encoder in int8, or a line with the reason for none; neither on a GPU."""
    if bench.device.type != "cpu":
        return [], []
    try:
        return [SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", "int8").freeze()], []
    except MachineError as error:
        return [], [f"minbert: {error}"]


def cross(bench: Bench) -> Iterator[Work]:
    """Yield the scoring of joined pairs with MiniLM's encoder and one random linear layer."""
    pairs = list(zip(bench.texts[:COUNT], bench.texts[COUNT : 2 * COUNT], strict=True))
    parts = bench.parts_in_turn(pairs)
    few = parts[0]
    folder = with_classifier(bench)
    default = peers.cross_encoder(folder, bench.device, torch.float32)
    best = peers.cross_encoder(folder, bench.device, bench.dtype)
    classifier = default.model.classifier  # the peer's classifier, on all sides
    ours = SentenceEncoder.from_pretrained(
        str(minilm(bench)), pooling="cls", device=str(bench.device)
    ).freeze()
    calibration = list(zip(bench.texts[1:], bench.texts, strict=False))
    others, skipped = peers.engines(bench, peers.cross_encoder, folder, calibration)
    wanted = default.predict(few)
    difference = np.abs(score(ours, few, classifier) - wanted)
    expect(float(difference.max()) < 0.05, "scores of minbert and CrossEncoder")

    def quality(scores: np.ndarray, name: str, exact: bool = True) -> str:
        agreement = float(np.corrcoef(scores, wanted)[0, 1])
        if not agreement > (0.995 if exact else 0.95):
            skipped.append(f"{name}: other scores, correlation {agreement:.3f}")
            return ""
        return f"correlation {agreement:.4f}"

    def our_side(name: str, encoder: SentenceEncoder, dtype: torch.dtype | None) -> Side:
        read = partial(score, encoder, classifier=classifier)
        agreement = quality(read(few), name, dtype is not None)
        expect(bool(agreement), f"scores of CrossEncoder and of {name}")  # our scores must be right
        return Side(name, lambda r: read(parts[r]), dtype, quality=agreement)

    int8, missing = in_int8(bench, minilm(bench), "cls")
    sides = [our_side("minbert", ours, ours.dtype)]
    sides += [our_side("minbert, int8", encoder, None) for encoder in int8]
    sides.append(Side("CrossEncoder", lambda r: default.predict(parts[r]), torch.float32))
    for other in [Engine(bench.precision, best, bench.dtype), *others]:
        read = other.model.predict
        if agreement := quality(read(few), other.name, other.dtype is not None):
            sides.append(other.side("CrossEncoder", read, parts, agreement, bench.device))
    flops = [encoder_flops(tokenize(ours, part).lengths, ours.model.config) for part in parts]
    amounts = [len(part) for part in parts]
    title = "cross-encoder scoring, MiniLM"
    yield Work(title, "pairs", amounts, sides, flops, [*missing, *skipped])


def with_classifier(bench: Bench) -> Path:
    """Write MiniLM with one random linear layer, used by every side."""
    folder = bench.scratch / "cross"
    if not folder.exists():
        torch.manual_seed(0)
        model = peers.cross_encoder(minilm(bench), bench.device, torch.float32)
        model.save_pretrained(str(folder))
    return folder


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
