"""The loop of masked-language-model pre-training; stops and resumes without changing a number.

Legend: M masked positions, V vocab_size.
"""

import hashlib
import time
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from minbert.fast.linear import kept_weights
from minbert.fast.switch import accelerate
from minbert.mlm import BertForMaskedLM, mask_tokens, masked_loss
from minbert.model import UNDECAYED
from minbert.packing import PackedBatch, TokenSequences
from minbert.pooling import mean_of_tokens
from minbert.pretraining.options import PretrainConfig
from minbert.pretraining.segments import (
    TwinHeads,
    cut_spans,
    cut_twins,
    span_logits,
    span_loss,
    whole_words,
)
from minbert.tokenizer import BertTokenizer
from runtime.device import autocast, choose_device, choose_precision
from runtime.errors import StateError
from runtime.progress import progress
from runtime.training import (
    Stateful,
    adamw,
    batch_rows,
    check_finite,
    linear_schedule,
    load_training,
    save_training,
)

VALID_MASK_PROBABILITY = 0.15  # whatever share a run trains with, so that runs are comparable


class Pretrainer:
    """Trains a masked-language model on rows of tokens; stops and resumes exactly.

    Args:
        model: encoder and prediction head.
        tokenizer: names the special ids.
        train, valid: rows of `config.length` tokens.
        config: the settings.
        folder: where the resumable states are kept: `stable.pt` until the learning rate falls, then
            `decay-STEPS.pt`, so that a finished run can be extended to more tokens from before
            the fall ("warm-up, stable, decay", Hu et al. 2024, section 4).
        device, precision: as in the rest of the project.
    """

    def __init__(
        self,
        model: BertForMaskedLM,
        tokenizer: BertTokenizer,
        train: TokenSequences,
        valid: TokenSequences,
        config: PretrainConfig,
        folder: Path,
        device: str = "auto",
        precision: str = "auto",
    ):
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        accelerate(model.bert)
        self.model, self.tokenizer = model.to(self.device), tokenizer
        self.train, self.valid, self.config = train, valid, config
        self.folder = folder
        self.parts: dict[str, nn.Module] = {"model": self.model}
        if config.twin_weight:  # asked in pre-training only: these heads are not published
            self.twins = TwinHeads(model.bert.config.hidden_size).to(self.device)
            self.parts["twins"] = self.twins
            self.words = whole_words(tokenizer)
        self.num_steps = max(1, config.tokens // config.tokens_per_step)
        self.optimizer = adamw(
            [(part, config.learning_rate) for part in self.parts.values()],
            config.weight_decay,
            UNDECAYED,
        )
        warmup_ratio = config.warmup_steps / self.num_steps
        self.schedule = linear_schedule(
            self.optimizer, self.num_steps, warmup_ratio, config.decay_ratio
        )
        self.decay_start = self.num_steps - round(self.num_steps * config.decay_ratio)
        self.step = 0
        self.history: list[dict[str, Any]] = []

    def run(self, resume: bool = False, show_progress: bool | None = None) -> list[dict[str, Any]]:
        """Train to the end; return one record per validation.

        Raises:
            StateError: there is a state and `resume` is not set, or it belongs to another run.
        """
        states = [path for path in (self._decay_state, self._stable_state) if path.is_file()]
        if states and not resume:
            raise StateError(
                f"{states[0]}: the state of an earlier run; --resume goes on with it, or delete it"
            )
        if states:
            self._load(states[0])
        losses: list[dict[str, float]] = []
        started = time.perf_counter()
        with progress("pretrain", self.num_steps, "step", show_progress) as bar:
            bar.update(self.step)
            while self.step < self.num_steps:
                losses.append(self._train_step())
                bar.update(1)
                if self._is_milestone():
                    self._check(losses, time.perf_counter() - started)
                    bar.set_postfix(self.history[-1])
                    losses, started = [], time.perf_counter()
        return self.history

    def evaluate(self) -> dict[str, float]:
        """Return perplexity and accuracy on held-out text, always with the same masks."""
        self.model.eval()
        loss, correct, count = 0.0, 0, 0
        kept = kept_weights(self.model.bert, self.device, self.dtype)
        # The same masks every time; the generator goes on as if nothing had been drawn.
        with torch.random.fork_rng(devices=[]), torch.inference_mode(), kept:
            torch.manual_seed(self.config.seed)
            for start in range(0, len(self.valid), 64):
                rows = np.arange(start, min(start + 64, len(self.valid)))
                logits, labels = self._logits(self.valid.pack(rows), VALID_MASK_PROBABILITY)
                loss += masked_loss(logits, labels).item() * len(labels)
                correct += int((logits.argmax(dim=-1) == labels).sum())
                count += len(labels)
            count = max(1, count)
            with np.errstate(over="ignore"):
                perplexity = float(np.exp(loss / count))
            check_finite(perplexity, self.step)
            scores = {"valid_perplexity": perplexity, "valid_accuracy": correct / count}
            return scores | self._span_accuracy() | self._twin_accuracy()

    def _span_accuracy(self) -> dict[str, float]:
        """Return how often a held-out span finds its partner among those of 63 other rows."""
        if not self.config.contrast_weight:
            return {}
        found = []
        # Rows a stride apart: neighbouring rows are of one text, which would make it a harder task.
        for start in range(stride := max(1, len(self.valid) // 64)):
            spans = cut_spans(self.valid.pack(np.arange(start, len(self.valid), stride)[:64]))
            partners = span_logits(self._embed(spans)).argmax(dim=1)  # (64,)
            found.append(partners == torch.arange(len(partners), device=self.device))
        return {"valid_span_accuracy": torch.cat(found).float().mean().item()}

    def _twin_accuracy(self) -> dict[str, float]:
        """Return how often it is told what the second segment of a held-out pair is."""
        if not self.config.twin_weight:
            return {}
        found = []
        for start in range(0, len(self.valid), 64):
            rows = np.arange(start, min(start + 64, len(self.valid)))
            twins = cut_twins(self.valid.pack(rows), self.words).to(self.device)
            with autocast(self.device, self.dtype):
                states = self.model.bert.packed(twins.batch).last_hidden_state
                kinds = self.twins.logits(states, twins).argmax(dim=1)  # (64,)
            found.append(kinds == twins.kinds)
        return {"valid_twin_accuracy": torch.cat(found).float().mean().item()}

    def _load(self, state: Path) -> None:
        progressed = load_training(state, self._parts())
        self.step, self.history = progressed["step"], progressed["history"]
        # Until the rate falls, the length of the run is still open.
        free = {"eval_steps"} | (
            {"tokens", "decay_ratio"} if state == self._stable_state else set()
        )
        mine = self._settings
        theirs = {**mine, **progressed.get("config", {})}  # older versions recorded less
        for name in mine:  # in their order: the same one is always named first
            if name not in free and mine[name] != theirs[name]:
                raise StateError(
                    f"{state}: of a run with {name} {theirs[name]}, not {mine[name]}; delete it "
                    "to start over"
                )
        if state == self._stable_state and self.step > self.decay_start:
            raise StateError(
                f"{state}: at step {self.step}, past the {self.decay_start} after which the rate "
                "should fall; give more --tokens or a smaller --decay-ratio, or delete it"
            )

    @cached_property
    def _settings(self) -> dict[str, Any]:
        """Return what must stay the same when a run resumes: settings, and texts as token ids."""
        texts = {"corpus": self.train.ids, "validation text": self.valid.ids}
        digests = {name: hashlib.sha256(ids.data).hexdigest()[:12] for name, ids in texts.items()}
        return asdict(self.config) | digests

    def _train_step(self) -> dict[str, float]:
        self.model.train()
        parts = self._losses()
        # L = L_words + w_spans L_spans + w_twins L_twins; a weight of 0 leaves its loss out.
        loss = parts["loss"] + self.config.contrast_weight * parts.get("span_loss", 0.0)
        loss = loss + self.config.twin_weight * parts.get("twin_loss", 0.0)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        parameters = [p for part in self.parts.values() for p in part.parameters()]
        nn.utils.clip_grad_norm_(parameters, self.config.max_grad_norm)
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        check_finite(loss.item(), self.step)
        return {name: part.item() for name, part in parts.items()}

    def _losses(self) -> dict[str, Tensor]:
        """Return the step's loss over masked tokens, and over spans if they are in use."""
        config = self.config
        rows = batch_rows(self.step, len(self.train), config.batch_size, config.seed)
        logits, labels = self._logits(self.train.pack(rows), config.mask_probability)
        losses = {"loss": masked_loss(logits, labels)}
        if config.contrast_weight:  # rows of their own: a pair takes a third of the time of a row
            size, seed = config.contrast_batch_size, config.seed + 1
            spans = cut_spans(self.train.pack(batch_rows(self.step, len(self.train), size, seed)))
            losses["span_loss"] = span_loss(self._embed(spans))
        if config.twin_weight:
            size, seed = config.twin_batch_size, config.seed + 2
            rows = batch_rows(self.step, len(self.train), size, seed)
            losses["twin_loss"] = self._twin_loss(self.train.pack(rows))
        return losses

    def _twin_loss(self, batch: PackedBatch) -> Tensor:
        """Return the loss of pairs cut from rows: what they are, and their masked words."""
        twins = cut_twins(batch, self.words)
        masked, labels = self._mask(twins.batch, VALID_MASK_PROBABILITY)
        # A masked word may stand in the other segment: predicting it means finding it there.
        positions = (labels != -100).nonzero().squeeze(1)  # (M,)
        twins = replace(twins.masked(labels), batch=masked).to(self.device)
        with autocast(self.device, self.dtype):
            states = self.model.bert.packed(twins.batch).last_hidden_state  # (total_tokens, H)
            words = self.model.bert.embeddings.word_embeddings.weight
            logits = self.model.head(states[positions.to(self.device)], words)  # (M, V)
            loss: Tensor = self.twins.loss(states, twins)
        return loss + masked_loss(logits, labels[positions].to(self.device))

    def _embed(self, batch: PackedBatch) -> Tensor:
        """Return the mean of each sequence's last states, (B, H) float32."""
        batch = batch.to(self.device)
        with autocast(self.device, self.dtype):
            return mean_of_tokens(self.model.bert.packed(batch).last_hidden_state, batch)

    def _logits(self, batch: PackedBatch, mask_probability: float) -> tuple[Tensor, Tensor]:
        """Mask a batch; return logits (M, V) and labels (M,) at the masked positions."""
        masked, labels = self._mask(batch, mask_probability)
        # Logits over the vocabulary cost most, and only masked positions need them.
        positions = (labels != -100).nonzero().squeeze(1)  # (M,)
        with autocast(self.device, self.dtype):
            logits = self.model(masked.to(self.device), positions.to(self.device))
        return logits, labels[positions].to(self.device)

    def _mask(self, batch: PackedBatch, probability: float) -> tuple[PackedBatch, Tensor]:
        """Return the batch with masked tokens, and their labels (total_tokens,)."""
        special, mask = self.tokenizer.special_ids, self.tokenizer.mask_id
        return mask_tokens(batch, special, mask, self.tokenizer.vocab_size, probability)

    def _check(self, losses: list[dict[str, float]], seconds: float) -> None:
        tokens = len(losses) * self.config.tokens_per_step
        record: dict[str, Any] = {"step": self.step}
        record |= {name: float(np.mean([loss[name] for loss in losses])) for name in losses[0]}
        record |= self.evaluate()
        record["tokens_per_second"] = round(tokens / seconds)
        self.history.append(record)
        tqdm.write(_log_line(record, self.num_steps))  # on stdout, clear of the bar
        state = self._stable_state if self.step <= self.decay_start else self._decay_state
        noted = {"step": self.step, "history": self.history, "config": self._settings}
        save_training(state, self._parts(), noted)

    def _is_milestone(self) -> bool:
        ends = (self.decay_start, self.num_steps)
        return self.step % self.config.eval_steps == 0 or self.step in ends

    @property
    def _stable_state(self) -> Path:
        return self.folder / "stable.pt"

    @property
    def _decay_state(self) -> Path:
        return self.folder / f"decay-{self.num_steps}.pt"

    def _parts(self) -> dict[str, Stateful]:
        return {**self.parts, "optimizer": self.optimizer, "schedule": self.schedule}


def _log_line(record: dict[str, Any], num_steps: int) -> str:
    """Return one point of the curve as a line of text."""
    names = {"valid_span_accuracy": "spans", "valid_twin_accuracy": "twins"}
    found = "".join(f"{names[key]} {record[key]:.3f}, " for key in names if key in record)
    return (
        f"step {record['step']}/{num_steps}: loss {record['loss']:.3f}, "
        f"validation perplexity {record['valid_perplexity']:.1f}, "
        f"accuracy {record['valid_accuracy']:.3f}, {found}{record['tokens_per_second']} tokens/s"
    )
