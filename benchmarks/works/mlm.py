"""Masked-language-model pre-training, tokens per second on mini's shape: 32 rows of 128 tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from benchmarks import peers
from benchmarks.material import Bench
from benchmarks.measure import Side, Work, expect
from minbert.hub import MINI
from minbert.mlm import BertForMaskedLM, mask_tokens
from minbert.packing import TokenSequences
from minbert.pretrain import NO_DROPOUT
from minbert.pretraining.loop import Pretrainer
from minbert.pretraining.options import PretrainConfig
from minbert.tokenizer import BertTokenizer

BATCH_SIZE, LENGTH, STEPS = 32, 128, 12  # so many that the first, on fresh memory, weighs little
LEARNING_RATE = 1e-4


def works(bench: Bench) -> Iterator[Work]:
    """Yield the one work, of STEPS training steps per round, both sides without dropout."""
    from transformers import BertForMaskedLM as PeerForMaskedLM

    tokenizer = BertTokenizer.from_pretrained(MINI)
    rows = full_rows(tokenizer, bench.texts)
    model = BertForMaskedLM.from_pretrained("mini", **NO_DROPOUT)
    config = PretrainConfig(
        length=LENGTH, batch_size=BATCH_SIZE, learning_rate=LEARNING_RATE, warmup_steps=0
    )
    ours = Pretrainer(model, tokenizer, rows, rows, config, bench.scratch, device=str(bench.device))
    peer = PeerForMaskedLM.from_pretrained(str(MINI), dtype=torch.float32, **NO_DROPOUT)
    peer.to(bench.device)
    check(ours, peer, rows)
    masked = masked_batches(ours, rows, bench.device)

    def loop(dtype: torch.dtype) -> Side:
        step = peers.training_step(peer, lambda batch: peer(**batch).loss, LEARNING_RATE, dtype)
        name = "float32" if dtype == torch.float32 else f"{bench.precision} autocast"
        step(masked[0])
        return Side(
            f"transformers, {name} loop",
            lambda r: [step(batch) for batch in masked],
            dtype,
            rounds=1 if dtype == torch.float32 else None,
        )

    ours._train_step()
    sides = [Side("minbert", lambda r: [ours._train_step() for _ in range(STEPS)], ours.dtype)]
    sides += [loop(dtype) for dtype in dict.fromkeys((torch.float32, bench.dtype))]
    tokens, rounds = STEPS * BATCH_SIZE * LENGTH, bench.rounds
    yield Work("MLM pre-training, mini's shape", "tokens", [tokens] * rounds, sides)


def full_rows(tokenizer: BertTokenizer, texts: Sequence[str]) -> TokenSequences:
    """Return the texts end to end in rows of LENGTH tokens."""
    ids = tokenizer(texts).ids
    count = len(ids) // LENGTH
    offsets = np.arange(count + 1) * LENGTH
    return TokenSequences(ids[: count * LENGTH], offsets, np.full(count, LENGTH, np.int32))


def masked_batches(
    ours: Pretrainer, rows: TokenSequences, device: torch.device
) -> list[dict[str, torch.Tensor]]:
    """Return STEPS batches with masks as transformers takes them: labels (B, T), -100 elsewhere."""
    tokenizer = ours.tokenizer
    made = []
    for start in range(STEPS):
        packed = rows.pack(np.arange(start * BATCH_SIZE, (start + 1) * BATCH_SIZE))
        masked, labels = mask_tokens(
            packed, tokenizer.special_ids, tokenizer.mask_id, tokenizer.vocab_size
        )
        input_ids = masked.input_ids.view(BATCH_SIZE, LENGTH).to(device)
        made.append({"input_ids": input_ids, "labels": labels.view(BATCH_SIZE, LENGTH).to(device)})
    return made


def check(ours: Pretrainer, peer: torch.nn.Module, rows: TokenSequences) -> None:
    """Expect the same loss of both on the same masked batch."""
    batch = masked_batches(ours, rows, ours.device)[0]
    packed = rows.pack(np.arange(BATCH_SIZE)).to(ours.device)
    masked = replace(packed, input_ids=batch["input_ids"].flatten())
    with torch.inference_mode():
        found = ours.model.loss(masked, batch["labels"].flatten()).item()
        wanted = peer.eval()(**batch).loss.item()
    expect(abs(found - wanted) <= 1e-3 * wanted, f"MLM losses {found:.4f} and {wanted:.4f}")
