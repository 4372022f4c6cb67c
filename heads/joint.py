"""One encoder with a head per task: trained jointly, and applied.

Legend: B examples of a batch, N of a split, K tasks, P numbers in the parameters that they share.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from data.tasks import TASKS, Splits
from heads.config import HeadConfig, JointConfig
from heads.features import FEATURES
from heads.inputs import Inputs, LiveInputs
from heads.schedules import Course, checks, numbered, phases
from heads.train import (
    SPEED_ROWS,
    FittedHead,
    Score,
    build_head,
    by_name,
    predictions,
    reading_speed,
)
from minbert.encoder import SentenceEncoder
from minbert.fast.dropout import set_dropout
from minbert.model import UNDECAYED
from runtime.processes import (
    draw_apart,
    is_main,
    main_decides,
    share,
    sum_gradients,
    sum_over_ranks,
)
from runtime.progress import progress
from runtime.training import (
    adamw,
    batch_rows,
    check_finite,
    linear_factor,
    resume_trainer,
    save_trainer,
    set_seed,
    steps_per_epoch,
)


@dataclass(frozen=True)
class Pupil:
    """A task of a joint training: its examples, how they are read, and by what they are scored.

    `reader` is one of `heads.config.READERS`; a single text is always read by `bi`. The epochs of
    `config` are the task's; its rates and its batch size are those of all tasks.
    """

    splits: Splits
    reader: str
    config: HeadConfig
    dev_score: Score


def fit_joint(
    encoder: SentenceEncoder,
    pupils: Mapping[str, Pupil],
    config: JointConfig,
    state_path: Path | None = None,
    resume: bool = False,
) -> dict[str, FittedHead]:
    """Train an encoder in place, with a head for each task, and predict dev and test.

    Args:
        encoder: trained in place.
        pupils: by task, in the order in which they are learnt.
        config: the schedule and remedies.
        state_path: of the resumable state; the caller deletes it once the results are written.
        resume: continue from that state.

    Returns:
        By task; `seconds` are those of the whole training in each.
    """
    started = time.perf_counter()
    trainer = JointTrainer(encoder, pupils, config, state_path)
    trainer.run(resume)

    def applied() -> tuple[dict[str, dict[str, np.ndarray]], float, dict[str, float]]:
        """Return the tasks' predictions, the seconds so far, and the speeds."""
        found = {task: trainer.predict_unseen(task) for task in pupils}
        seconds = time.perf_counter() - started
        speeds = {}
        for task, pupil in pupils.items():

            def predict(inputs: Inputs, task: str = task) -> np.ndarray:
                return trainer.predict(task, inputs)

            rows, features = pupil.splits.dev[:SPEED_ROWS], trainer.features[task]
            speeds[task] = reading_speed(predict, encoder, rows, features)
        return found, seconds, speeds

    found, seconds, speeds = main_decides(applied() if is_main() else None)
    return {
        task: FittedHead(
            trainer.heads[task],
            found[task],
            trainer.inputs[task],
            trainer.history[task],
            seconds,
            speeds[task],
            {split: tensor.numpy() for split, tensor in trainer.before.get(task, {}).items()},
        )
        for task in pupils
    }


class JointTrainer:
    """Trains an encoder and a head per task in place; the last state counts, not the best.

    Selecting checkpoints would hide what is forgotten.

    Args:
        encoder: that reads the texts of all tasks.
        pupils: by task, in the order in which they are learnt.
        config: the schedule and remedies.
        state_path: where the resumable state is written after every check; None keeps none.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        pupils: Mapping[str, Pupil],
        config: JointConfig,
        state_path: Path | None = None,
    ):
        self.pupils, self.config, self.state_path = pupils, config, state_path
        self.settings = settings = next(iter(pupils.values())).config
        self.features = {t: FEATURES[p.reader](p.config.features) for t, p in pupils.items()}
        # All tasks read their texts with the same encoder, so training one changes all.
        self.inputs: dict[str, dict[str, Inputs]] = {
            task: {
                name: LiveInputs(encoder, rows, self.features[task])
                for name, rows in by_name(pupil.splits).items()
            }
            for task, pupil in pupils.items()
        }
        self.labels, self.heads = {}, {}
        for task, pupil in pupils.items():
            labels = [example.label for example in pupil.splits.train]
            self.labels[task] = torch.tensor(labels).float()  # (N,)
            # The initial weights are those of the task's head in a training of its own.
            set_seed(pupil.config.seed)
            size = encoder.model.config.hidden_size
            head = build_head(TASKS[task], pupil.reader, size, pupil.config)
            self.heads[task] = head.to(encoder.device)
        set_seed(settings.seed)
        # One optimizer for the encoder and all heads, each with its own rate.
        heads = nn.ModuleDict(self.heads)
        self.trained = nn.ModuleDict({"heads": heads, "encoder": encoder.model})
        if settings.backbone_dropout is not None:
            set_dropout(encoder.model, settings.backbone_dropout)
        rates: list[tuple[nn.Module, float]] = [(heads, settings.learning_rate)]
        rates.append((encoder.model, settings.backbone_learning_rate))
        # What all tasks pull at: P numbers.
        self.shared = [p for p in encoder.model.parameters() if p.requires_grad]
        self.optimizer = adamw(rates, settings.weight_decay, UNDECAYED)
        # Each task's share of the steps is what its own training would take.
        courses = {}
        for task, pupil in pupils.items():
            count = len(pupil.splits.train)
            per_epoch = steps_per_epoch(count, settings.batch_size)
            courses[task] = Course(count, per_epoch, pupil.config.num_epochs)
        self.phases = phases(config, courses, settings.seed)
        self.schedule = LambdaLR(self.optimizer, self._factor)
        self.batches = numbered(self.phases)
        self.step = 0
        self.history: dict[str, list[dict[str, Any]]] = {name: [] for name in pupils}
        # Predictions of a task when it has just been learnt; in the first process only.
        self.before: dict[str, dict[str, Tensor]] = {}
        draw_apart(settings.seed)  # each process has its own dropout

    def run(self, resume: bool = False) -> None:
        """Train all phases; leave the last state in place."""
        if resume:
            resume_trainer(self)
        with progress("joint", len(self.batches), "step") as bar:
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
        return predictions(self.heads[task], inputs, self.step)

    def predict_unseen(self, task: str) -> dict[str, np.ndarray]:
        """Return the predictions of a task's splits but train."""
        inputs = self.inputs[task]
        return {name: self.predict(task, inputs[name]) for name in inputs if name != "train"}

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
            # AdamW's moments are those of the task before: what is learnt next begins anew.
            if self._place(step)[0] == 0:
                self.optimizer.state.clear()
            total += self._train_step(step)
            tick()
        self.step = end
        return total / (end - first)

    def _train_step(self, step: int) -> float:
        """Take one step; return the mean loss of its batches."""
        self.optimizer.zero_grad(set_to_none=True)
        losses, gradients = [], []
        # For surgery each task's gradient is set aside; else they add up in the parameters.
        for task, number in self.batches[step]:
            losses.append(self._backward(task, number, step))
            if len(self.batches[step]) > 1:
                gradients.append(take_gradient(self.shared))
        # PCGrad: (K, P) to (P,), every conflict projected away.
        if gradients:
            put_gradient(self.shared, without_conflicts(torch.stack(gradients)))
        nn.utils.clip_grad_norm_(self.trained.parameters(), self.settings.max_grad_norm)
        self.optimizer.step()
        self.schedule.step()
        return sum(losses) / len(losses)

    def _backward(self, task: str, number: int, step: int) -> float:
        """Add the gradient of a task's batch; return its loss."""
        head, labels, settings = self.heads[task], self.labels[task], self.settings
        # The task's own seeded order, whatever comes between its batches.
        rows = batch_rows(number, len(labels), settings.batch_size, settings.seed)
        own = share(rows)
        # Features (B, F) to logits (B,) or (B, C); the encoder runs here.
        logits = head(self.inputs[task]["train"].batch(own))
        loss = head.loss(logits, labels[own].to(logits.device))
        # Its part of the mean over the joint batch: the shares of all processes add up to it.
        loss = loss * (len(own) / len(rows))
        loss.backward()
        # Another head may keep its gradient of an earlier batch of this step, already summed.
        sum_gradients([*head.parameters(), *self.shared])
        joint = sum_over_ranks(loss.detach()).item()
        check_finite(joint, step)
        return joint

    def _check(self, loss: float, learnt: str | None) -> None:
        """Score all tasks on dev; keep the predictions of the one that has just been learnt."""

        def scores() -> dict[str, float | None]:
            return {
                task: pupil.dev_score(self.predict(task, self.inputs[task]["dev"]))
                for task, pupil in self.pupils.items()
            }

        # All tasks, also those learnt long ago: the curves show what is forgotten.
        for task, score in main_decides(scores() if is_main() else None).items():
            epoch = len(self.history[task]) + 1
            self.history[task].append({"epoch": epoch, "loss": loss, "dev_score": score})
        if learnt is not None and is_main():
            self.before[learnt] = {
                split: torch.from_numpy(found)
                for split, found in self.predict_unseen(learnt).items()
            }
        save_trainer(self, ("step", "history", "before"))


def without_conflicts(gradients: Tensor) -> Tensor:
    """Return the sum of the tasks' gradients, each projected where it conflicts with another's.

    PCGrad (Yu et al. 2020, arXiv:2001.06782), algorithm 1: while g_i . g_j < 0, for the other tasks
    j in random order, g_i becomes g_i - (g_i . g_j) / |g_j|^2 g_j, where g_j is as it was.

    Args:
        gradients: (K, P).

    Returns:
        (P,).
    """
    total = torch.zeros_like(gradients[0])
    squares = (gradients**2).sum(dim=1)
    for own, gradient in enumerate(gradients):
        projected = gradient.clone()
        # All processes take the same order, though each draws numbers of its own.
        for other in main_decides(torch.randperm(len(gradients)).tolist()):
            product = projected @ gradients[other]
            # A vanished gradient conflicts with nothing.
            if other != own and product < 0:
                projected -= product / squares[other] * gradients[other]
        total += projected
    return total


def take_gradient(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Return the gradients in one row (P,), zeros where there is none, and clear them."""
    found = [
        torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for parameter in parameters
    ]
    for parameter in parameters:
        parameter.grad = None
    return torch.cat([gradient.flatten() for gradient in found])


def put_gradient(parameters: Sequence[nn.Parameter], gradient: Tensor) -> None:
    """Make a row (P,) the gradients of the parameters."""
    parts = gradient.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter)
