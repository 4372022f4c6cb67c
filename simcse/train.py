"""One training loop for all contrastive objectives; stops and resumes without changing a number.

Legend: B examples, V views, H hidden_size.
Reads: views, loss, projection. Feeds: a tuned encoder, through its checkpoint, to heads.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM, mask_tokens
from minbert.packing import PackedBatch
from minbert.resume import Stateful, load_training, save_training
from minbert.runtime import (
    RELEASE_STEPS,
    TrainingError,
    adamw,
    autocast,
    check_finite,
    linear_schedule,
    progress,
    release_memory,
    set_seed,
)
from simcse.config import SimCSEConfig
from simcse.loss import cosine_matrix, info_nce, nt_xent
from simcse.projection import attach_projection
from simcse.views import ContrastiveData

History = list[dict[str, Any]]


class SimCSETrainer:
    """Tunes `encoder` in place.

    Args:
        encoder: the encoder; its pooling is set as the config asks.
        data: what to train on.
        config: how.
        dev_score: called every `eval_steps`; higher is better; the best state is kept.
        state_path: where the resumable state is written at every dev check; None keeps none.
        mlm_source: the checkpoint folder whose prediction head the MLM objective starts from.

    Raises:
        TrainingError: batches without any negative, whose loss is 0 whatever the encoder does.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        data: ContrastiveData,
        config: SimCSEConfig,
        dev_score: Callable[[], float] | None = None,
        state_path: Path | None = None,
        mlm_source: Path | None = None,
    ):
        if min(config.batch_size, len(data)) == 1 and data.rows.shape[1] == 2:
            raise TrainingError("a batch of 1 without hard negatives holds no negatives; take 2")
        set_seed(config.seed)
        self.encoder, self.data, self.config = encoder, data, config
        self.dev_score, self.state_path = dev_score, state_path
        projection = attach_projection(encoder, config)
        mlm = BertForMaskedLM.around(encoder.model, mlm_source) if config.mlm_weight else None
        self.trained = nn.ModuleDict({"projection": projection})
        self.trained["encoder"] = mlm or encoder.model  # the MLM model contains the encoder
        self.trained.to(encoder.device)
        self.steps_per_epoch = math.ceil(len(data) / config.batch_size)
        self.num_steps = self.steps_per_epoch * config.num_epochs
        if config.max_steps is not None:
            self.num_steps = min(self.num_steps, config.max_steps)
        self.optimizer = adamw([(self.trained, config.learning_rate)], config.weight_decay)
        self.schedule = linear_schedule(self.optimizer, self.num_steps, config.warmup_ratio)
        self.step = 0
        self.history: History = []
        self.best_score: float | None = None
        self.best_state: dict[str, Tensor] = {}

    def run(self, resume: bool = False, show_progress: bool | None = None) -> History:
        """Train to the end and leave the best state (or the last, without dev checks) in place.

        Args:
            resume: go on from `state_path` if there is one; the final numbers are then those of
                an undisturbed run.
            show_progress: None shows a bar where stderr is a terminal.

        Returns:
            One record a dev check: step, loss, in-batch accuracy, dev score, sentences a second.
        """
        if resume and self.state_path is not None and self.state_path.is_file():
            self._load(self.state_path)
        elif self.dev_score is not None:
            self.history.append({"step": 0, "dev_score": self.dev_score()})
        window: History = []
        started = time.perf_counter()
        with progress("simcse", self.num_steps, "step", show_progress) as bar:
            bar.update(self.step)
            while self.step < self.num_steps:
                window.append(self._train_step())
                bar.update(1)
                if self.step % self.config.eval_steps == 0 or self.step == self.num_steps:
                    self._check(window, time.perf_counter() - started)
                    window, started = [], time.perf_counter()
                bar.set_postfix(self._postfix(window, time.perf_counter() - started))
        if self.best_state:
            self.encoder.model.load_state_dict(self.best_state)
        self.encoder.model.eval()
        return self.history

    def _train_step(self) -> dict[str, Any]:
        """One batch forward and back."""
        self.trained.train()
        examples = self._batch_of(self.step)
        loss, accuracy, num_sentences = self._loss(examples)
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()  # now, so that no gradients lie about during the next forward
        self.schedule.step()
        self.step += 1
        if self.step % RELEASE_STEPS == 0:
            release_memory()
        check_finite(loss.item(), self.step)
        return {"loss": loss.item(), "accuracy": accuracy.item(), "sentences": num_sentences}

    def _batch_of(self, step: int) -> np.ndarray:
        """Return the example numbers of a step; every epoch has its own seeded order."""
        epoch, position = divmod(step, self.steps_per_epoch)
        order = np.random.default_rng([self.config.seed, epoch]).permutation(len(self.data))
        return order[position * self.config.batch_size :][: self.config.batch_size]

    def _loss(self, examples: np.ndarray) -> tuple[Tensor, Tensor, int]:
        """Return the objective on a batch, its in-batch accuracy, and the number of sentences."""
        config = self.config
        rows = self.data.rows[examples].T.ravel()  # (V * B,): all anchors, all positives, ...
        # Sorted by length, equal lengths are neighbours, which attention needs to be fast.
        order = np.argsort(self.data.sequences.lengths[rows], kind="stable")
        batch = self.data.sequences.pack(rows[order])
        vectors = self.trained["projection"](self.encoder.embed(batch))  # (V * B, H), sorted
        inverse = torch.from_numpy(np.argsort(order)).to(vectors.device)
        views = vectors[inverse].unflatten(0, (-1, len(examples))).unbind()  # V times (B, H)
        objective = nt_xent if config.symmetric else info_nce
        logit = math.log(config.hard_negative_weight)
        hard_negatives = views[2] if len(views) == 3 else None
        loss = objective(views[0], views[1], hard_negatives, config.temperature, logit)
        if config.mlm_weight:
            loss = loss + config.mlm_weight * self._mlm_loss(batch)
        with torch.no_grad():
            nearest = cosine_matrix(views[0], torch.cat(views[1:])).argmax(dim=1)
        accuracy = (nearest == torch.arange(len(examples), device=nearest.device)).float().mean()
        return loss, accuracy, len(rows)

    def _mlm_loss(self, batch: PackedBatch) -> Tensor:
        """Masked-language-model loss on the sentences of the batch (paper, section 5.1)."""
        tokenizer, model = self.encoder.tokenizer, self.trained["encoder"]
        assert isinstance(model, BertForMaskedLM)
        specials = (tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id)
        masked, labels = mask_tokens(
            batch,
            specials,
            tokenizer.mask_id,
            tokenizer.vocab_size,
            self.config.mlm_probability,
        )
        device = self.encoder.device
        with autocast(device, self.encoder.dtype):
            return model.loss(masked.to(device), labels.to(device))

    def _check(self, window: History, seconds: float) -> None:
        """Score on dev, keep the best, record, and save so that a killed run can go on."""
        record: dict[str, Any] = {"step": self.step}
        record["loss"] = float(np.mean([entry["loss"] for entry in window]))
        record["accuracy"] = float(np.mean([entry["accuracy"] for entry in window]))
        if self.dev_score is not None:
            score = record["dev_score"] = self.dev_score()
            if self.best_score is None or score > self.best_score:
                self.best_score = score
                self.best_state = _copy(self.encoder.model.state_dict())
        record["sentences_per_second"] = sum(e["sentences"] for e in window) / seconds
        self.history.append(record)
        if self.state_path is not None:
            self._save(self.state_path)
        release_memory()

    def _postfix(self, window: History, seconds: float) -> dict[str, str]:
        """What the progress bar tells beside step and time left."""
        shown = {}
        if window:
            speed = sum(entry["sentences"] for entry in window) / seconds
            shown = {"loss": f"{window[-1]['loss']:.3f}", "sent/s": f"{speed:.0f}"}
        if self.best_score is not None:
            shown["best dev"] = f"{self.best_score:.4f}"
        return shown

    def _parts(self) -> dict[str, Stateful]:
        return {
            "trained": self.trained,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
        }

    def _save(self, path: Path) -> None:
        names = ("step", "history", "best_score", "best_state")
        save_training(path, self._parts(), {name: getattr(self, name) for name in names})

    def _load(self, path: Path) -> None:
        for name, value in load_training(path, self._parts()).items():
            setattr(self, name, value)


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a copy on the host, so that further training leaves it alone."""
    return {key: tensor.detach().to("cpu", copy=True) for key, tensor in tensors.items()}
