"""Contrastive training steps, at once and in chunks, compared with plain loops of transformers.

The peers have fewer rounds of the contrastive steps: one after the first, and one in float32.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import peers
from benchmarks.engine import Side, Work, expect
from benchmarks.inputs import Bench, bert_base
from benchmarks.peers import PADDED
from data.examples import Triplet
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops
from runtime.device import autocast
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised

BATCH_SIZE, GPU_BATCH_SIZE = 64, 512  # sentences or triplets of a contrastive step
MAX_LENGTH = 32
CHUNK_TOKENS = 2048
LEARNING_RATE = 3e-5

CACHED, CACHED_TOKENS = 192, 4096  # triplets, and tokens of a chunk


def simcse_step(bench: Bench) -> Iterator[Work]:
    """Yield a contrastive training step of both objectives, on bert-base's shape."""
    batch_size = GPU_BATCH_SIZE if bench.device.type == "cuda" else BATCH_SIZE
    folder = bert_base(bench, "cls")
    yield _contrastive("unsup step, bert-base shape", folder, batch_size, 1, bench)
    yield _contrastive("sup step, bert-base shape", folder, batch_size, 3, bench)


def _contrastive(title: str, folder: Path, batch_size: int, num_texts: int, bench: Bench) -> Work:
    texts = bench.texts[: num_texts * batch_size]
    columns = [list(texts[i::num_texts]) for i in range(num_texts)]
    trainer = our_trainer(folder, columns, batch_size, bench)
    trainer.encoder.save(folder)  # the peers start from the same MLP
    views = columns * 2 if num_texts == 1 else columns  # a sentence is its own positive
    plain, loop, ranking = peer_steps(folder, views, trainer, bench)
    trainer._train_step()  # AdamW's state appears in the first step

    lengths = trainer.data.sequences.lengths[trainer.data.rows].ravel()
    config, rounds = trainer.encoder.model.config, bench.rounds
    flops = [encoder_flops(lengths, config, training=True)] * rounds
    # Only operations that are computed are counted (`minbert.fast.products`).
    fewer = None
    if bench.device.type == "cpu" and trainer.encoder.dtype == torch.bfloat16:
        fewer = [encoder_flops(lengths, config, training=True, last_at_first=True)] * rounds

    def chunked(number: int) -> None:
        before = trainer.config
        trainer.config = replace(before, chunk_tokens=CHUNK_TOKENS)
        trainer._train_step()
        trainer.config = before

    ours, theirs = trainer.encoder.dtype, bench.precision
    sides = [
        Side("minbert", lambda r: trainer._train_step(), ours, flops=fewer),
        Side(f"transformers, {theirs} autocast loop", loop, bench.dtype, rounds=2),
        Side(f"MultipleNegativesRankingLoss, {theirs} autocast", ranking, bench.dtype, rounds=2),
    ]
    if num_texts == 1:
        sides.append(Side("transformers, float32 loop", plain, torch.float32, rounds=1))
        # The time of chunks; the saved memory is in `grad_cache`.
        sides.append(Side(f"minbert, --chunk-tokens {CHUNK_TOKENS}", chunked, ours, flops=fewer))
    return Work(title, "sentences", [len(lengths)] * rounds, sides, flops)


def our_trainer(
    folder: Path,
    columns: Sequence[list[str]],
    batch_size: int,
    bench: Bench,
    **settings: Any,
) -> SimCSETrainer:
    """Return our trainer: the weights in `folder` and a fresh MLP over [CLS]."""
    encoder = SentenceEncoder.from_pretrained(str(folder), device=str(bench.device))
    tokenizer = encoder.tokenizer
    if len(columns) == 1:
        data = unsupervised(columns[0], tokenizer, MAX_LENGTH)
    else:
        triplets = [Triplet(*row) for row in zip(*columns, strict=True)]
        data = supervised(triplets, tokenizer, MAX_LENGTH)
    config = SimCSEConfig(
        batch_size=batch_size,
        learning_rate=LEARNING_RATE,
        pooling="cls",
        num_epochs=1000,
        **settings,
    )
    return SimCSETrainer(encoder, data, config)


def peer_steps(
    folder: Path, texts: Sequence[list[str]], trainer: SimCSETrainer, bench: Bench
) -> list[Callable[[int], float]]:
    """Return the peers' steps: plain float32, plain autocast, and sentence-transformers' loss.

    Without dropout, all losses are first checked to be ours.
    """
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import AutoModel, AutoTokenizer

    plain = AutoModel.from_pretrained(str(folder)).to(bench.device)
    wrapped = peers.sentence_transformer(folder, bench.device, torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    views = [peers.padded(tokenizer, column, MAX_LENGTH, bench.device) for column in texts]
    temperature = trainer.config.temperature
    theirs = MultipleNegativesRankingLoss(wrapped, scale=1 / temperature)

    def contrastive(batch: list[PADDED]) -> Tensor:
        return contrastive_loss(plain, batch, temperature)

    def ranking(batch: list[PADDED]) -> Tensor:
        # It normally gets features from its own collator; they are the same tensors.
        loss: Tensor = theirs([dict(view) for view in batch], None)
        return loss

    for module in (trainer.trained, plain, wrapped):
        module.eval()  # no dropout: all losses must be equal
    ours = trainer.add_gradients(np.arange(len(trainer.data)))[0].item()
    trainer.trained.zero_grad()
    with torch.no_grad():
        for name, loss in {"loop": contrastive(views), "ranking": ranking(views)}.items():
            same = abs(loss.item() - ours) <= 0.03 * loss.item()
            expect(same, f"losses: ours {ours:.4f}, {name} {loss.item():.4f}")

    def rounds(model: Any, loss: Callable[[Any], Tensor], dtype: torch.dtype) -> Any:
        step = training_step(model, loss, LEARNING_RATE, dtype)
        step([{key: tensor[:4] for key, tensor in view.items()} for view in views])
        return lambda number: step(views)

    return [
        rounds(plain, contrastive, torch.float32),
        rounds(plain, contrastive, bench.dtype),
        rounds(wrapped, ranking, bench.dtype),
    ]


def contrastive_loss(model: nn.Module, views: Sequence[PADDED], temperature: float) -> Tensor:
    """Return SimCSE's loss as in a plain loop: views joined, padded, [CLS] and pooler."""
    length = max(view["input_ids"].shape[1] for view in views)
    joined = {
        key: torch.cat([nn.functional.pad(v[key], (0, length - v[key].shape[1])) for v in views])
        for key in views[0]
    }
    embeddings = model(**joined).pooler_output.float().chunk(len(views))
    anchors, others = embeddings[0], torch.cat(embeddings[1:])
    anchors, others = (nn.functional.normalize(x, dim=-1) for x in (anchors, others))
    scores = anchors @ others.T / temperature
    return nn.functional.cross_entropy(scores, torch.arange(len(anchors), device=scores.device))


def training_step(
    model: nn.Module, loss: Callable[[Any], Tensor], learning_rate: float, dtype: torch.dtype
) -> Callable[[Any], float]:
    """Return a step on a batch, as in plain loops: autocast, backward, clip, AdamW."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=0.0, fused=True
    )

    def step(batch: Any) -> float:
        model.train()
        with autocast(next(model.parameters()).device, dtype):
            value = loss(batch)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return value.item()

    return step


def grad_cache(bench: Bench) -> Iterator[Work]:
    """Yield one step of 192 triplets on bert-base's shape, in chunks and at once: memory.

    The memory includes weights, gradients, AdamW's state and activations. There is one round; the
    seconds include loading. The time of caching is in `simcse_step`.
    """
    folder = bert_base(bench, "cls")
    texts = bench.texts[: 3 * CACHED]
    columns = [list(texts[i::3]) for i in range(3)]

    def step(chunk_tokens: int | None) -> None:
        our_trainer(folder, columns, CACHED, bench, chunk_tokens=chunk_tokens)._train_step()

    sides = [
        Side(f"minbert, chunks of {CACHED_TOKENS} tokens", lambda r: step(CACHED_TOKENS)),
        Side("minbert, at once", lambda r: step(None)),
    ]
    title = f"loading and one sup step, {CACHED} triplets, bert-base shape"
    yield Work(title, "sentences", [len(texts)], sides)
