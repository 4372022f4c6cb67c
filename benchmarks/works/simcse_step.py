"""A contrastive training step on bert-base's shape: 64 sentences or triplets.

On a GPU both take 512. The peers take fewer rounds: two after the first, and one in float32.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import peers
from benchmarks.material import Bench, bert_base
from benchmarks.measure import Side, Work, expect
from data.examples import Triplet
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised

MAX_LENGTH = 32
CHUNK_TOKENS = 2048
LEARNING_RATE = 3e-5
Views = list[peers.PADDED]


def works(bench: Bench) -> Iterator[Work]:
    """Yield both objectives' works."""
    gpu = bench.device.type == "cuda"
    folder = bert_base(bench, "cls")
    yield _work("unsup step, bert-base shape", folder, 512 if gpu else 64, 1, bench)
    yield _work("sup step, bert-base shape", folder, 512 if gpu else 64, 3, bench)


def _work(title: str, folder: Path, batch_size: int, num_texts: int, bench: Bench) -> Work:
    texts = bench.texts[: num_texts * batch_size]
    columns = [list(texts[i::num_texts]) for i in range(num_texts)]
    trainer = our_trainer(folder, columns, batch_size, bench)
    trainer.encoder.save(folder)  # the peers start from the same MLP
    views = columns * 2 if num_texts == 1 else columns  # a sentence is its own positive
    steps = peer_steps(folder, views, trainer, bench)
    trainer._train_step()  # AdamW's state appears in the first step

    lengths = trainer.data.sequences.lengths[trainer.data.rows].ravel()
    config, rounds = trainer.encoder.model.config, bench.rounds
    flops = [encoder_flops(lengths, config, training=True)] * rounds
    sides = [
        Side("minbert", lambda r: trainer._train_step(), trainer.encoder.dtype),
        Side("transformers, float32 loop", steps["float32"], torch.float32, rounds=1),
        Side(
            f"transformers, {bench.precision} autocast loop",
            steps["autocast"],
            bench.dtype,
            rounds=3,
        ),
        Side(
            f"MultipleNegativesRankingLoss, {bench.precision} autocast",
            steps["ranking"],
            bench.dtype,
            rounds=3,
        ),
    ]
    sides += variants(folder, columns, trainer, bench)
    # Only what is computed counts as such (`minbert.fast.first_tokens`).
    if bench.device.type == "cpu" and trainer.encoder.dtype == torch.bfloat16:
        fewer = [encoder_flops(lengths, config, training=True, last_at_first=True)] * rounds
        sides = [replace(s, flops=fewer) if s.name.startswith("minbert") else s for s in sides]
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


def variants(
    folder: Path, columns: Sequence[list[str]], trainer: SimCSETrainer, bench: Bench
) -> list[Side]:
    """Return our other ways to make the step: unsup in chunks; on a GPU, compiled."""
    sides = []
    dtype = trainer.encoder.dtype
    if len(columns) == 1:  # what it costs; what it saves is in `grad_cache`

        def chunked(number: int) -> None:
            config = trainer.config
            trainer.config = replace(config, chunk_tokens=CHUNK_TOKENS)
            trainer._train_step()
            trainer.config = config

        sides.append(Side(f"minbert, --chunk-tokens {CHUNK_TOKENS}", chunked, dtype))
    if bench.device.type == "cuda":
        batch_size = trainer.config.batch_size
        compiled = our_trainer(folder, columns, batch_size, bench, compile=True)
        compiled._train_step()
        sides.append(Side("minbert, --compile", lambda r: compiled._train_step(), dtype))
    return sides


def peer_steps(
    folder: Path, texts: Sequence[list[str]], trainer: SimCSETrainer, bench: Bench
) -> dict[str, Callable[[int], float]]:
    """Return the peers' steps, after the check that without dropout all losses are ours."""
    from transformers import AutoModel, AutoTokenizer

    plain = AutoModel.from_pretrained(str(folder)).to(bench.device)
    wrapped = peers.sentence_transformer(folder, bench.device, torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    views = [peers.padded(tokenizer, column, MAX_LENGTH, bench.device) for column in texts]
    temperature = trainer.config.temperature

    def contrastive(batch: Views) -> torch.Tensor:
        return peers.contrastive_loss(plain, batch, temperature)

    def ranking(batch: Views) -> torch.Tensor:
        # It normally gets features from its own collator; they are the same tensors.
        return peers.ranking_loss(wrapped, [dict(view) for view in batch], temperature)

    for module in (trainer.trained, plain, wrapped):
        module.eval()  # no dropout: all must now find the same loss
    ours = trainer.add_gradients(np.arange(len(trainer.data)))[0].item()
    trainer.trained.zero_grad()
    with torch.no_grad():
        for name, loss in {"loop": contrastive(views), "ranking": ranking(views)}.items():
            expect(
                abs(loss.item() - ours) <= 0.03 * loss.item(),
                f"losses: ours {ours:.4f}, {name} {loss.item():.4f}",
            )
    return {
        "float32": _rounds(plain, contrastive, views, torch.float32),
        "autocast": _rounds(plain, contrastive, views, bench.dtype),
        "ranking": _rounds(wrapped, ranking, views, bench.dtype),
    }


def _rounds(
    model: torch.nn.Module,
    loss: Callable[[Views], torch.Tensor],
    views: Views,
    dtype: torch.dtype,
) -> Callable[[int], float]:
    """Return training steps on `views`, after a first one on a few examples."""
    step = peers.training_step(model, loss, LEARNING_RATE, dtype)
    step([{key: tensor[:4] for key, tensor in view.items()} for view in views])
    return lambda number: step(views)
