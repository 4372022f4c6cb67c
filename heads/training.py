"""One training loop for all heads, on frozen features or on a live encoder.

Legend: B examples of a batch, N of a split. Reads: inputs, head. Feeds: fitting.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heads.config import HeadConfig
from heads.heads import Head
from heads.inputs import Inputs, LiveInputs
from minbert.fast.dropout import set_dropout
from minbert.model import UNDECAYED
from runtime.epochs import batch_rows, steps_per_epoch
from runtime.optimizer import adamw, check_finite, linear_schedule
from runtime.processes import draw_apart, share, sum_gradients, sum_over_ranks
from runtime.progress import progress
from runtime.resume import Stateful, load_training, save_training, saved_state
from runtime.seeds import set_seed

Score = Callable[[np.ndarray], float | None]


class HeadTrainer:
    """Trains a head and, if its inputs are live, the encoder under it.

    Args:
        head: the head, freshly initialised.
        train: inputs of the training split.
        labels: (N,) float labels of the training split.
        dev: inputs of the development split.
        dev_score: predictions (N_dev,) -> what to maximise; None counts as worst.
        config: the settings.
        state_path: where the resumable state is written after every epoch; None keeps none.
    """

    def __init__(
        self,
        head: Head,
        train: Inputs,
        labels: np.ndarray,
        dev: Inputs,
        dev_score: Score,
        config: HeadConfig,
        state_path: Path | None = None,
    ):
        set_seed(config.seed)
        self.head, self.train, self.dev, self.dev_score = head, train, dev, dev_score
        self.labels = torch.from_numpy(labels).float()
        self.config, self.state_path = config, state_path
        self.trained = nn.ModuleDict({"head": head})
        rates: list[tuple[nn.Module, float]] = [(head, config.learning_rate)]
        if isinstance(train, LiveInputs):
            self.trained["encoder"] = train.encoder.model
            rates.append((train.encoder.model, config.backbone_learning_rate))
            if config.backbone_dropout is not None:
                set_dropout(train.encoder.model, config.backbone_dropout)
        # A tuned encoder has a rate of its own: its weights are near where they should be.
        self.optimizer = adamw(rates, config.weight_decay, UNDECAYED)
        self.steps_per_epoch = steps_per_epoch(len(train), config.batch_size)
        num_steps = self.steps_per_epoch * config.num_epochs
        self.schedule = linear_schedule(self.optimizer, num_steps, config.warmup_ratio)
        self.epoch = 0
        self.history: list[dict[str, Any]] = []
        self.best_score = -math.inf
        self.best_state: dict[str, Tensor] = {}
        draw_apart(config.seed)  # each process has its own dropout

    def run(self, resume: bool = False, show_progress: bool | None = None) -> list[dict[str, Any]]:
        """Train all epochs and leave the state of the best dev epoch in place.

        Returns:
            One record per epoch: epoch, loss (mean over examples), dev_score.
        """
        if resume and (state := saved_state(self.state_path)):
            self._load(state)
        total = self.config.num_epochs * self.steps_per_epoch
        with progress("head", total, "step", show_progress) as bar:
            bar.update(self.epoch * self.steps_per_epoch)
            while self.epoch < self.config.num_epochs:
                loss = self._train_epoch(bar.update)
                self.epoch += 1
                self._check(loss)
                bar.set_postfix(loss=f"{loss:.3f}", dev=f"{self.best_score:.4f}")
        self.trained.load_state_dict(self.best_state)
        self.trained.eval()
        return self.history

    def predict(self, inputs: Inputs) -> np.ndarray:
        """Return predictions (N,) of any split, in evaluation mode."""
        self.trained.eval()
        return predictions(self.head, inputs, self.epoch * self.steps_per_epoch)

    def _train_epoch(self, tick: Callable[[], Any]) -> float:
        """Train on all examples, shuffled; return the mean loss per example."""
        self.trained.train()
        first, config = self.epoch * self.steps_per_epoch, self.config
        total, count = 0.0, 0
        for step in range(first, first + self.steps_per_epoch):
            rows = batch_rows(step, len(self.train), config.batch_size, config.seed)
            own = share(rows)
            # Features (B, F) to logits (B,) or (B, C); of live inputs, the encoder runs here.
            logits = self.head(self.train.batch(own))
            loss = self.head.loss(logits, self.labels[own].to(logits.device))
            # Its part of the mean over the joint batch: the shares of all processes add up to it.
            loss = loss * (len(own) / len(rows))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            sum_gradients(self.trained.parameters())
            nn.utils.clip_grad_norm_(self.trained.parameters(), config.max_grad_norm)
            self.optimizer.step()
            self.schedule.step()
            joint = sum_over_ranks(loss.detach()).item()
            check_finite(joint, step)
            # The last batch of an epoch is shorter, and counts by its examples.
            total += joint * len(rows)
            count += len(rows)
            tick()
        return total / count

    def _check(self, loss: float) -> None:
        score = self.dev_score(self.predict(self.dev))
        self.history.append({"epoch": self.epoch, "loss": loss, "dev_score": score})
        # An undefined score, such as the correlation of a constant, is worse than any other.
        comparable = -math.inf if score is None else score
        if comparable > self.best_score or not self.best_state:
            self.best_score = comparable
            state = self.trained.state_dict()
            self.best_state = {key: t.detach().to("cpu", copy=True) for key, t in state.items()}
        if self.state_path is not None:
            self._save(self.state_path)

    def _parts(self) -> dict[str, Stateful]:
        return {
            "trained": self.trained,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
        }

    def _save(self, path: Path) -> None:
        names = ("epoch", "history", "best_score", "best_state")
        save_training(path, self._parts(), {name: getattr(self, name) for name in names})

    def _load(self, path: Path) -> None:
        for name, value in load_training(path, self._parts()).items():
            setattr(self, name, value)


def predictions(head: Head, inputs: Inputs, step: int) -> np.ndarray:
    """Return a head's predictions (N,) float64; it and its encoder are in evaluation mode.

    Raises:
        TrainingError: training has diverged before this `step`.
    """
    found = np.zeros(len(inputs), np.float64)
    largest = torch.zeros((), dtype=torch.float64)
    with inputs.reading():
        for rows in share(list(inputs.batches())):
            logits = head(inputs.batch(rows))
            largest += logits.abs().max().cpu()
            found[rows] = head.predict(logits).cpu().numpy()
    sum_over_ranks(torch.from_numpy(found))  # rows of other ranks are zeros so far
    check_finite(sum_over_ranks(largest).item(), step)
    return found
