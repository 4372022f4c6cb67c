"""The training loop of one encoder with a head per task.

Legend: B examples of a batch, N of a split. Reads: schedules, remedies, inputs, heads. Feeds:
fitting.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from heads.config import HeadConfig
from heads.head import Head
from heads.inputs import Inputs
from heads.joint.config import JointConfig
from heads.joint.schedules import Course, checks, numbered, phases
from heads.training import Score, predictions
from minbert.encoder import SentenceEncoder
from minbert.fast.dropout import set_dropout
from minbert.model import UNDECAYED
from runtime.epochs import batch_rows, steps_per_epoch
from runtime.optimizer import adamw, check_finite, linear_factor
from runtime.processes import draw_apart, share, sum_gradients, sum_over_ranks
from runtime.progress import progress
from runtime.resume import Stateful, load_training, save_training, saved_state
from runtime.seeds import set_seed


@dataclass(frozen=True)
class Learner:
    """What a joint training needs of one task.

    Attributes:
        head: freshly initialised.
        inputs: split -> its examples, read by the encoder that all tasks share.
        labels: (N,) float, of the training split.
        dev_score: predictions (N_dev,) -> what is shown of them; None is undefined.
        config: its epochs; the rates and the batch size are those of all tasks.
    """

    head: Head
    inputs: Mapping[str, Inputs]
    labels: Tensor
    dev_score: Score
    config: HeadConfig


class JointTrainer:
    """Trains an encoder and a head per task in place; the last state counts, not the best.

    Selecting checkpoints would hide what is forgotten.

    Args:
        encoder: that all learners' inputs are read by.
        learners: by task, in the order in which they are learnt.
        config: the schedule and remedies.
        state_path: where the resumable state is written after every check; None keeps none.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        learners: Mapping[str, Learner],
        config: JointConfig,
        state_path: Path | None = None,
    ):
        self.settings = settings = next(iter(learners.values())).config
        set_seed(settings.seed)
        self.learners, self.config, self.state_path = learners, config, state_path
        heads = nn.ModuleDict({name: learner.head for name, learner in learners.items()})
        self.trained = nn.ModuleDict({"heads": heads, "encoder": encoder.model})
        if settings.backbone_dropout is not None:
            set_dropout(encoder.model, settings.backbone_dropout)
        rates: list[tuple[nn.Module, float]] = [(heads, settings.learning_rate)]
        rates.append((encoder.model, settings.backbone_learning_rate))
        self.optimizer = adamw(rates, settings.weight_decay, UNDECAYED)
        self.phases = phases(config, self._courses(), settings.seed)
        self.schedule = LambdaLR(self.optimizer, self._factor)
        self.batches = numbered(self.phases)
        self.step = 0
        self.history: dict[str, list[dict[str, Any]]] = {name: [] for name in learners}
        self.before: dict[str, dict[str, Tensor]] = {}
        draw_apart(settings.seed)  # each process has its own dropout

    def run(self, resume: bool = False, show_progress: bool | None = None) -> None:
        """Train all phases; leave the last state in place."""
        if resume and (state := saved_state(self.state_path)):
            self._load(state)
        with progress("joint", len(self.batches), "step", show_progress) as bar:
            bar.update(self.step)
            for end, learnt in checks(self.phases):
                if end > self.step:
                    loss = self._train_to(end, bar.update)
                    self._check(loss, learnt)
                    bar.set_postfix(loss=f"{loss:.3f}")
        self.trained.eval()

    def predict(self, task: str, inputs: Inputs) -> np.ndarray:
        """Return predictions (N,) of any split of a task, in evaluation mode."""
        self.trained.eval()
        return predictions(self.learners[task].head, inputs, self.step)

    def _courses(self) -> dict[str, Course]:
        found = {}
        for name, learner in self.learners.items():
            count, config = len(learner.labels), learner.config
            per_epoch = steps_per_epoch(count, self.settings.batch_size)
            found[name] = Course(count, per_epoch, config.num_epochs)
        return found

    def _factor(self, step: int) -> float:
        """Return what rates are multiplied by: every phase has a rise and fall of its own."""
        for phase in self.phases:
            if step < len(phase.steps):
                return linear_factor(len(phase.steps), self.settings.warmup_ratio)(step)
            step -= len(phase.steps)
        return 0.0

    def _train_to(self, end: int, tick: Callable[[], Any]) -> float:
        """Train up to a step; return the mean loss per batch."""
        self.trained.train()
        starts = {0, *(end for end, learnt in checks(self.phases) if learnt)}
        total, first = 0.0, self.step
        for step in range(first, end):
            if step in starts:
                self.optimizer.state.clear()  # what is learnt next begins anew
            total += self._train_step(step)
            tick()
        self.step = end
        return total / (end - first)

    def _train_step(self, step: int) -> float:
        """Take one step; return the mean loss of its batches."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = [self._backward(task, number, step) for task, number in self.batches[step]]
        nn.utils.clip_grad_norm_(self.trained.parameters(), self.settings.max_grad_norm)
        self.optimizer.step()
        self.schedule.step()
        return sum(losses) / len(losses)

    def _backward(self, task: str, number: int, step: int) -> float:
        """Add the gradient of a task's batch; return its loss."""
        learner, settings = self.learners[task], self.settings
        rows = batch_rows(number, len(learner.labels), settings.batch_size, settings.seed)
        own = share(rows)
        # Features (B, F) to logits (B,) or (B, C); the encoder runs here.
        logits = learner.head(learner.inputs["train"].batch(own))
        loss = learner.head.loss(logits, learner.labels[own].to(logits.device))
        # Its part of the mean over the joint batch: the shares of all processes add up to it.
        loss = loss * (len(own) / len(rows))
        loss.backward()
        sum_gradients(self.trained.parameters())
        joint = sum_over_ranks(loss.detach()).item()
        check_finite(joint, step)
        return joint

    def _check(self, loss: float, learnt: str | None) -> None:
        """Score all tasks on dev; keep the predictions of the one that has just been learnt."""
        for name, learner in self.learners.items():
            score = learner.dev_score(self.predict(name, learner.inputs["dev"]))
            epoch = len(self.history[name]) + 1
            self.history[name].append({"epoch": epoch, "loss": loss, "dev_score": score})
        if learnt is not None:
            splits = {s: i for s, i in self.learners[learnt].inputs.items() if s != "train"}
            self.before[learnt] = {
                split: torch.from_numpy(self.predict(learnt, inputs))
                for split, inputs in splits.items()
            }
        if self.state_path is not None:
            self._save(self.state_path)

    def _parts(self) -> dict[str, Stateful]:
        return {"trained": self.trained, "optimizer": self.optimizer, "schedule": self.schedule}

    def _save(self, path: Path) -> None:
        names = ("step", "history", "before")
        save_training(path, self._parts(), {name: getattr(self, name) for name in names})

    def _load(self, path: Path) -> None:
        for name, value in load_training(path, self._parts()).items():
            setattr(self, name, value)
