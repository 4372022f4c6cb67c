"""The loop of masked-language-model pre-training; stops and resumes without changing a number.

Legend: M masked positions, V vocab_size.
"""

import hashlib
import time
from dataclasses import asdict
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
from minbert.pretraining.options import PretrainConfig
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

VALID_MASK_PROBABILITY = 0.15  # independent of the share in training, so runs are comparable


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
        *,
        folder: Path,
        device: str = "auto",
        precision: str = "auto",
    ):
        self.device = choose_device(device)
        self.dtype = choose_precision(precision, self.device)
        accelerate(model.bert)
        self.model, self.tokenizer = model.to(self.device), tokenizer
        self.train, self.valid, self.config = train, valid, config
        self.num_steps = max(1, config.tokens // config.tokens_per_step)
        rates = [(self.model, config.learning_rate)]
        self.optimizer = adamw(rates, config.weight_decay, UNDECAYED)
        warmup = config.warmup_steps / self.num_steps
        self.schedule = linear_schedule(self.optimizer, self.num_steps, warmup, config.decay_ratio)
        self.decay_start = self.num_steps - round(self.num_steps * config.decay_ratio)
        self.stable_state = folder / "stable.pt"
        self.decay_state = folder / f"decay-{self.num_steps}.pt"
        self.parts: dict[str, Stateful] = {
            "model": self.model,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
        }
        self.step = 0
        self.history: list[dict[str, Any]] = []

    def run(self, resume: bool = False) -> list[dict[str, Any]]:
        """Train to the end; return one record per validation.

        Raises:
            StateError: there is a state and `resume` is not set, or it belongs to another run.
        """
        states = [path for path in (self.decay_state, self.stable_state) if path.is_file()]
        if states and not resume:
            raise StateError(
                f"{states[0]}: the state of an earlier run; continue with --resume, or delete it"
            )
        if states:
            self._load(states[0])
        losses: list[float] = []
        started = time.perf_counter()
        with progress("pretrain", self.num_steps, "step") as bar:
            bar.update(self.step)
            while self.step < self.num_steps:
                losses.append(self._train_step())
                bar.update(1)
                ends = (self.decay_start, self.num_steps)
                if self.step % self.config.eval_steps == 0 or self.step in ends:
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
            for rows in np.split(np.arange(len(self.valid)), range(64, len(self.valid), 64)):
                logits, labels = self._logits(self.valid.pack(rows), VALID_MASK_PROBABILITY)
                loss += masked_loss(logits, labels).item() * len(labels)
                correct += int((logits.argmax(dim=-1) == labels).sum())
                count += len(labels)
            count = max(1, count)
            with np.errstate(over="ignore"):
                perplexity = float(np.exp(loss / count))
            check_finite(perplexity, self.step)
            return {"valid_perplexity": perplexity, "valid_accuracy": correct / count}

    def _load(self, state: Path) -> None:
        progressed = load_training(state, self.parts)
        self.step, self.history = progressed["step"], progressed["history"]
        # Until the rate falls, the length of the run is still open.
        free = {"eval_steps", "init"}  # the weights are those of the state
        if state == self.stable_state:
            free |= {"tokens", "decay_ratio"}
        mine = self._settings
        theirs = progressed.get("config", {})
        for name in mine:  # in their order: the same one is always named first
            if name not in free and mine[name] != theirs.get(name):
                raise StateError(
                    f"{state}: of a run with {name} {theirs.get(name)}, not {mine[name]}; give "
                    "another --out to start over"
                )
        if state == self.stable_state and self.step > self.decay_start:
            raise StateError(
                f"{state}: at step {self.step}, past the {self.decay_start} after which the rate "
                "should fall; give more --tokens or a smaller --decay-ratio, or delete it"
            )

    @cached_property
    def _settings(self) -> dict[str, Any]:
        """Return everything that must not change when a run resumes: settings and token ids."""
        texts = {"corpus": self.train.ids, "validation text": self.valid.ids}
        digests = {name: hashlib.sha256(ids.data).hexdigest()[:12] for name, ids in texts.items()}
        return asdict(self.config) | digests

    def _train_step(self) -> float:
        """Change the weights once; return the loss before it."""
        config = self.config
        self.model.train()
        rows = batch_rows(self.step, len(self.train), config.batch_size, config.seed)
        loss = masked_loss(*self._logits(self.train.pack(rows), config.mask_probability))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), config.max_grad_norm)
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        check_finite(loss.item(), self.step)
        return loss.item()

    def _logits(self, batch: PackedBatch, mask_probability: float) -> tuple[Tensor, Tensor]:
        """Mask a batch; return logits (M, V) and labels (M,) at the masked positions."""
        words = self.tokenizer
        masked, labels = mask_tokens(
            batch, words.special_ids, words.mask_id, words.vocab_size, mask_probability
        )
        # Logits over the vocabulary cost most, and only masked positions need them.
        positions = (labels != -100).nonzero().squeeze(1)  # (M,)
        with autocast(self.device, self.dtype):
            logits = self.model(masked.to(self.device), positions.to(self.device))
        return logits, labels[positions].to(self.device)

    def _check(self, losses: list[float], seconds: float) -> None:
        """Validate, record and print the scores, and save the state."""
        record: dict[str, Any] = {"step": self.step, "loss": float(np.mean(losses))}
        record |= self.evaluate()
        record["tokens_per_second"] = round(len(losses) * self.config.tokens_per_step / seconds)
        self.history.append(record)
        tqdm.write(  # on stdout, clear of the bar
            f"step {self.step}/{self.num_steps}: loss {record['loss']:.3f}, "
            f"validation perplexity {record['valid_perplexity']:.1f}, "
            f"accuracy {record['valid_accuracy']:.3f}, {record['tokens_per_second']} tokens/s"
        )
        state = self.stable_state if self.step <= self.decay_start else self.decay_state
        noted = {"step": self.step, "history": self.history, "config": self._settings}
        save_training(state, self.parts, noted)
