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

from data.tasks import Task
from heads.config import HeadConfig
from heads.heads import Head
from heads.inputs import Inputs
from heads.joint.config import JointConfig
from heads.joint.distillation import taught_loss
from heads.joint.ranking import ranking_loss
from heads.joint.recall import Recall, annealed
from heads.joint.schedules import Course, checks, numbered, phases
from heads.joint.surgery import put_gradient, take_gradient, without_conflicts
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
        task: its record.
        taught: what a teacher says of the training split, (N,) or (N, C); None without a teacher.
    """

    head: Head
    inputs: Mapping[str, Inputs]
    labels: Tensor
    dev_score: Score
    config: HeadConfig
    task: Task
    taught: Tensor | None = None


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
        self.shared = [p for p in encoder.model.parameters() if p.requires_grad]
        self.hidden_size = encoder.model.config.hidden_size
        self.recall: Recall | None = None
        if "recall" in config.remedies:
            self.recall = Recall(encoder.model, config.recall_strength)
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

    def _place(self, step: int) -> tuple[int, int]:
        """Return which step of its phase a step is, and of how many."""
        for phase in self.phases:
            if step < len(phase.steps):
                return step, len(phase.steps)
            step -= len(phase.steps)
        return 1, 1  # after the last

    def _factor(self, step: int) -> float:
        """Return what rates are multiplied by: every phase has a rise and fall of its own."""
        own, count = self._place(step)
        return linear_factor(count, self.settings.warmup_ratio)(own)

    def _train_to(self, end: int, tick: Callable[[], Any]) -> float:
        """Train up to a step; return the mean loss per batch."""
        self.trained.train()
        # Losses of batches weigh alike, whatever their task.
        total, first = 0.0, self.step
        for step in range(first, end):
            if self._place(step)[0] == 0:
                self.optimizer.state.clear()  # what is learnt next begins anew
                if self.recall:
                    self.recall.anchor()
            total += self._train_step(step)
            tick()
        self.step = end
        return total / (end - first)

    def _train_step(self, step: int) -> float:
        """Take one step; return the mean loss of its batches."""
        self.optimizer.zero_grad(set_to_none=True)
        losses, gradients = [], []
        for task, number in self.batches[step]:
            losses.append(self._backward(task, number, step))
            if len(self.batches[step]) > 1:
                gradients.append(take_gradient(self.shared))
        # PCGrad: (tasks, parameters) to (parameters,), every conflict projected away.
        if gradients:
            put_gradient(self.shared, without_conflicts(torch.stack(gradients)))
        nn.utils.clip_grad_norm_(self.trained.parameters(), self.settings.max_grad_norm)
        if self.recall:
            self._recall(self.recall, step)
        self.optimizer.step()
        self.schedule.step()
        return sum(losses) / len(losses)

    def _recall(self, recall: Recall, step: int) -> None:
        """Pull the encoder back, and let the coming update move it by lambda of its length only."""
        own, count = self._place(step)
        learnt = annealed(own / count)
        recall.pull(learnt, self._factor(step))
        # Matrices and the rest of the heads are the first two groups; the schedule sets all anew.
        for group in self.optimizer.param_groups[2:]:
            group["lr"] *= learnt

    def _backward(self, task: str, number: int, step: int) -> float:
        """Add the gradient of a task's batch; return its loss."""
        learner, settings = self.learners[task], self.settings
        rows = batch_rows(number, len(learner.labels), settings.batch_size, settings.seed)
        own = share(rows)
        # Features (B, F) to logits (B,) or (B, C); the encoder runs here.
        features = learner.inputs["train"].batch(own)
        loss = self._loss(learner, features, own, step)
        # Its part of the mean over the joint batch: the shares of all processes add up to it.
        loss = loss * (len(own) / len(rows))
        loss.backward()
        # Another head may keep its gradient of an earlier batch of this step, already summed.
        sum_gradients([*learner.head.parameters(), *self.shared])
        joint = sum_over_ranks(loss.detach()).item()
        check_finite(joint, step)
        return joint

    def _loss(self, learner: Learner, features: Tensor, rows: np.ndarray, step: int) -> Tensor:
        """Return the mean loss of a batch, with what remedies make of it or add to it."""
        head, task = learner.head, learner.task
        logits, labels = head(features), learner.labels[rows].to(features.device)
        # Labels alone, or labels and what a teacher says: less of it towards the end of the phase.
        if learner.taught is None:
            loss = head.loss(logits, labels)
        else:
            own, count = self._place(step)
            taught = learner.taught[rows].to(features.device)
            loss = taught_loss(head, logits, labels, taught, own / count)
        if "ranking" in self.config.remedies and task.is_pair and task.kind != "classes":
            more = ranking_loss(features, labels, task.largest, self.hidden_size)
            loss = loss + self.config.ranking_weight * more
        return loss

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
        parts: dict[str, Stateful] = {
            "trained": self.trained,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
        }
        return parts | ({"recall": self.recall} if self.recall else {})

    def _save(self, path: Path) -> None:
        names = ("step", "history", "before")
        save_training(path, self._parts(), {name: getattr(self, name) for name in names})

    def _load(self, path: Path) -> None:
        for name, value in load_training(path, self._parts()).items():
            setattr(self, name, value)
