"""Scoring 2,000 joined pairs with a cross-encoder: MiniLM's encoder and one linear layer.

A round scores a fifth of them, the next round the next; on a GPU, all.
"""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.material import Bench, minilm
from benchmarks.measure import Side, Work, best_batch_size, expect
from benchmarks.peers import cross_encoder
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops
from minbert.packing import TokenSequences, batches_by_tokens

COUNT = 2000


def works(bench: Bench) -> Iterator[Work]:
    """Yield the one work; the classifier's random weights are the peer's, on both sides."""
    pairs = list(zip(bench.texts[:COUNT], bench.texts[COUNT : 2 * COUNT], strict=True))
    parts = bench.parts_in_turn(pairs)
    few = parts[0]
    models = []
    for dtype in (torch.float32, bench.dtype):
        torch.manual_seed(0)
        models.append(cross_encoder(minilm(bench), bench.device, dtype))
    default, best = models
    classifier = default.model.classifier.float()
    ours = SentenceEncoder.from_pretrained(
        str(minilm(bench)), pooling="cls", device=str(bench.device)
    ).freeze()
    found, wanted = score(ours, few, classifier), default.predict(few)
    expect(np.corrcoef(found, wanted)[0, 1] > 0.995, "scores of minbert and CrossEncoder")
    expect(float(np.abs(found - wanted).max()) < 0.05, "scores of minbert and CrossEncoder")
    best.predict(few)
    size = best_batch_size(lambda n: best.predict(few, batch_size=n), bench.device)
    sides = [
        Side("minbert", lambda r: score(ours, parts[r], classifier), ours.dtype),
        Side("CrossEncoder", lambda r: default.predict(parts[r]), torch.float32),
        Side(
            f"CrossEncoder, {bench.precision}, batch {size}",
            lambda r: best.predict(parts[r], batch_size=size),
            bench.dtype,
        ),
    ]
    flops = [encoder_flops(tokenize(ours, part).lengths, ours.model.config) for part in parts]
    amounts = [len(part) for part in parts]
    yield Work("cross-encoder scoring, MiniLM", "pairs", amounts, sides, flops)


def tokenize(encoder: SentenceEncoder, pairs: list[tuple[str, str]]) -> TokenSequences:
    """Return joined pairs."""
    return encoder.tokenize([a for a, _ in pairs], [b for _, b in pairs])


def score(
    encoder: SentenceEncoder, pairs: list[tuple[str, str]], classifier: torch.nn.Module
) -> np.ndarray:
    """Return one logit per pair, (N,), in batches of real tokens, longest first."""
    sequences = tokenize(encoder, pairs)
    scores = np.empty(len(pairs), np.float32)
    with encoder.reading(sequences):
        for rows in batches_by_tokens(sequences.lengths, encoder.batch_tokens):
            logits = classifier(encoder.embed(sequences.pack(rows)))
            scores[rows] = logits.squeeze(-1).cpu().numpy()
    return scores
