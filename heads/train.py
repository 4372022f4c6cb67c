"""Train heads on frozen features or with a live encoder, and predict with them.

One loop trains the head of one task, or those of several tasks jointly on one encoder (heads.joint
gives the task of each batch). Several processes share the training of a live encoder. Heads on
frozen features take seconds, so every process trains them. The first process scores and predicts.
Legend: B examples of a batch, N of a split, C classes.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from data.tasks import TASKS, Splits, Task
from heads.config import HeadConfig, JointConfig
from heads.features import FEATURES, Features
from heads.heads import Head, build_head
from heads.inputs import HeadInputs, LiveInputs, cls_is_of_interest, inputs_of
from heads.joint import Course, Phase, checks, first_end, numbered, phases
from heads.published import load_classifier, published_classifier
from minbert.encoder import SentenceEncoder
from minbert.fast.dropout import set_dropout
from minbert.model import UNDECAYED
from runtime.device import one_thread
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
    host_copy,
    linear_factor,
    resume_trainer,
    save_trainer,
    set_seed,
    steps_per_epoch,
)

# Dev predictions (N,) -> the main metric; None, where it is undefined, counts as worst.
Score = Callable[[np.ndarray], float | None]

# A smaller head on frozen features is trained with one thread: more threads gain nothing, and on a
# busy machine they wait for each other.
SHARED_WEIGHTS = 2**20
SPEED_ROWS = 128  # enough to measure speed, few enough to take little time
# Steps between two saved states, each of the encoder, its moments and the best encoder so far:
# epochs of few labels are shorter than writing one takes.
SAVE_STEPS = 100
SAVED = ("step", "history", "best_score", "best_state", "kept_step", "before", "seconds")


@dataclass(frozen=True)
class HeadTask:
    """A task that a head learns, separately or jointly with others."""

    task: str  # its name
    reader: str  # a key of `FEATURES`; a single text is always read by `bi`
    # In joint training epochs, features, and the head's seed and dropout are taken from here; rates
    # and batch size are those of the first task.
    config: HeadConfig
    splits: Splits
    dev_score: Score
    inputs: dict[str, HeadInputs] | None = None  # of every split; None: `fit_heads` makes them

    @property
    def record(self) -> Task:
        """Return the task's record, with the scale and words of its file."""
        return self.splits.task or TASKS[self.task]

    @property
    def features(self) -> Features:
        return FEATURES[self.reader](self.config.features)


@dataclass(frozen=True)
class Ending:
    """Where a training ends and which state it keeps: the last, or the best on dev."""

    epoch: int | None = None  # the last one; None: all
    best_from: int | None = None  # the best state from this epoch on; None: the last state
    patience: float = math.inf  # steps without a better state, after which it ends

    @property
    def keeps_best(self) -> bool:
        """Return whether dev decides which state is kept."""
        return self.best_from is not None


@dataclass(frozen=True)
class FittedHead:
    """Predictions of every split except train, the history of training, and its time."""

    head: Head
    logits: dict[str, np.ndarray]  # split -> (N,) or (N, C)
    predictions: dict[str, np.ndarray]  # split -> (N,), made from these
    soft: dict[str, np.ndarray]  # split -> (N,) or (N, C), see heads.heads.Head.soft
    inputs: dict[str, HeadInputs]  # split -> inputs of the logits
    history: list[dict[str, Any]]  # epoch, loss, dev_score of each dev check
    steps: int  # up to the kept state, also if joint
    seconds: float  # encoding (unless cached), training, prediction; joint: of all tasks
    # split -> (N,), predictions of a sequential training directly after this task.
    before: dict[str, np.ndarray]


def fit_heads(
    encoder: SentenceEncoder,
    head_tasks: Sequence[HeadTask],
    cache: Path,
    *,
    joint: JointConfig | None = None,
    fingerprint: str | None = None,
    state_path: Path | None = None,
    resume: bool = False,
    epoch: int | None = None,
) -> list[FittedHead]:
    """Train the head of each task and predict dev and test; all processes must call this.

    Args:
        encoder: frozen here with `tune == "frozen"`, to encode each distinct text once; otherwise
            it is trained with the head, in place.
        head_tasks: one, or several in the order of training.
        cache: the folder of frozen embeddings.
        joint: the settings of a joint training; None for one task.
        fingerprint: of the encoder, if already known.
        state_path: of the resumable state; the caller deletes it once the results are written.
        resume: continue from that state.
        epoch: stop after this epoch, chosen beforehand; None keeps the epoch with the best dev
            score, or the last state of a joint training.
    """
    started = time.perf_counter()
    inputs = [
        head_task.inputs
        or inputs_of(
            encoder,
            by_name(head_task.splits),
            head_task.features,
            head_task.config.tune,
            cache,
            fingerprint=fingerprint,
            beside_cls=cls_is_of_interest(encoder, head_task.record, head_task.reader),
        )
        for head_task in head_tasks
    ]
    ending = Ending(epoch)
    if epoch is None and joint is None:
        ends = [end for end, _ in checks(phases_of(head_tasks, joint))]
        ending = Ending(best_from=first_end(ends, head_tasks[0].config.least_steps))
    trainer = HeadTrainer(encoder, head_tasks, inputs, ending, joint=joint, state_path=state_path)
    trainer.started = started
    trainer.run(resume, "joint" if joint else "head")
    applied: Any = None
    if is_main():
        logits = {task: trainer.logits_of_unseen(task) for task in trainer.heads}
        applied = logits, trainer.seconds
    logits, seconds = main_decides(applied)
    return [
        FittedHead(
            head,
            logits[task],
            {split: predicted(head, rows) for split, rows in logits[task].items()},
            {split: soft_of(head, rows) for split, rows in logits[task].items()},
            trainer.inputs[task],
            trainer.history[task],
            trainer.kept_step,
            seconds,
            {split: row.numpy() for split, row in trainer.before.get(task, {}).items()},
        )
        for task, head in trainer.heads.items()
    ]


def by_name(splits: Splits) -> dict[str, list[Any]]:
    """Return the splits that have examples, by name."""
    named = {"train": splits.train, "dev": splits.dev, "test": splits.test}
    return {name: examples for name, examples in named.items() if examples or name == "train"}


def phases_of(head_tasks: Sequence[HeadTask], joint: JointConfig | None) -> list[Phase]:
    """Return the phases of training one task, or several tasks jointly."""
    # Each task has the steps of its single-task training; a published head has no steps and no
    # rows to train on.
    config = head_tasks[0].config
    courses = {}
    for head_task in head_tasks:
        if epochs := head_task.config.num_epochs:
            count = len(head_task.splits.train)
            courses[head_task.task] = Course(
                count, steps_per_epoch(count, config.batch_size), epochs
            )
    return phases(joint or JointConfig("sequential"), courses, config.seed)


class HeadTrainer:
    """Trains the head of one task, or several heads jointly, with or without a live encoder.

    Args: as for `fit_heads`; `inputs` of each task by split: train, dev, and those to predict;
        `ending`: the best state is that of the best dev score, the mean over tasks.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        head_tasks: Sequence[HeadTask],
        inputs: Sequence[dict[str, HeadInputs]],
        ending: Ending,
        *,
        joint: JointConfig | None = None,
        state_path: Path | None = None,
    ):
        self.encoder, self.joint, self.state_path = encoder, joint, state_path
        self.ending = ending
        self.head_tasks = {head_task.task: head_task for head_task in head_tasks}
        self.inputs = dict(zip(self.head_tasks, inputs, strict=True))
        self.config = config = head_tasks[0].config
        # Several processes share the batches of a live encoder, but not those of frozen features.
        self.live = config.tune != "frozen"
        if self.live:
            encoder.model.requires_grad_(config.tune != "none")  # a published head is only read
        # Classes and scores are float here; each head's loss converts them as needed.
        self.labels = {
            task: torch.tensor([example.label for example in head_task.splits.train]).float()
            for task, head_task in self.head_tasks.items()
        }
        self.heads = {head_task.task: self._new_head(head_task) for head_task in head_tasks}
        set_seed(config.seed)
        heads = nn.ModuleDict(self.heads)
        self.trained = nn.ModuleDict({"heads": heads})
        # A tuned encoder has a separate rate, since its weights are pre-trained.
        rates: list[tuple[nn.Module, float]] = [(heads, config.learning_rate)]
        if self.live:
            self.trained["encoder"] = encoder.model
            rates.append((encoder.model, config.backbone_learning_rate))
            if config.backbone_dropout is not None:
                set_dropout(encoder.model, config.backbone_dropout)
            draw_apart(config.seed)  # each process draws different dropout
        self.optimizer = adamw(rates, config.weight_decay, UNDECAYED)
        # Listed once: a walk through the modules takes a tenth of a frozen head's step.
        self.parameters = [*self.trained.parameters()]

        plan = phases_of(head_tasks, joint)
        self.batches = numbered(plan)
        self.checks = checks(plan)[: ending.epoch]
        lengths = [len(phase.steps) for phase in plan]
        self.starts = {0, *accumulate(lengths)}
        # Rates rise and fall once per phase, even if training stops at a chosen epoch.
        factors = [linear_factor(n, config.warmup_ratio)(k) for n in lengths for k in range(n)]
        factors.append(0.0)  # after the last step
        self.schedule = LambdaLR(self.optimizer, lambda step: factors[step])

        self.step = self.saved_step = 0
        self.started = time.perf_counter()
        self.history: dict[str, list[dict[str, Any]]] = {task: [] for task in self.heads}
        self.best_score = -math.inf
        self.kept_step = 0  # step whose state is kept at the end
        self.best_state: dict[str, Tensor] = {}
        # Logits of that state, if it has read dev since the training began or was resumed.
        self.dev_logits: dict[str, np.ndarray] = {}
        # Predictions of a task directly after its phase; only in the first process.
        self.before: dict[str, dict[str, Tensor]] = {}

    def _new_head(self, head_task: HeadTask) -> Head:
        """Return a head with the same initial weights as in single-task training."""
        config, task = head_task.config, head_task.record
        set_seed(config.seed)
        size = FEATURES[head_task.reader](config.features).size(self.encoder)
        head = build_head(task, head_task.reader, size, config.features, config.dropout)
        classifier = published_classifier(self.encoder, task, head_task.reader, config.features)
        if classifier is not None:
            load_classifier(head, classifier, task.words)
        return head.to(self.encoder.device)

    @property
    def seconds(self) -> float:
        """The time since `started`; of a resumed training, with the time before."""
        return time.perf_counter() - self.started

    @seconds.setter
    def seconds(self, taken: float) -> None:
        self.started = time.perf_counter() - taken

    def run(self, resume: bool = False, label: str = "head") -> None:
        """Train to the end; leave the state of the best dev epoch in place, or the last one."""
        if resume:
            resume_trainer(self)
            self.saved_step = self.step
        weights = sum(p.numel() for head in self.heads.values() for p in head.parameters())
        few = one_thread(not self.live and weights < SHARED_WEIGHTS)
        last, ending = self.checks[-1][0] if self.checks else 0, self.ending
        with few, progress(label, last, "step") as bar:
            bar.update(self.step)
            for end, learnt in self.checks:
                waited = self.step - self.kept_step if self.best_state else 0
                if end > self.step and waited < ending.patience:
                    loss = self._train_to(end, bar.update)
                    self._check(loss, learnt)
                    best = {"dev": f"{self.best_score:.4f}"} if ending.keeps_best else {}
                    bar.set_postfix(loss=f"{loss:.3f}", **best)
            bar.total = self.step  # fewer than planned if nothing better came
        if self.best_state:
            self.trained.load_state_dict(self.best_state)
        self.trained.eval()

    def logits(self, task: str, inputs: HeadInputs) -> np.ndarray:
        """Return logits, (N,) or (N, C), of any examples of a task, in evaluation mode."""
        self.trained.eval()
        logits = head_logits(self.heads[task], inputs)
        check_finite(np.abs(logits).max().item(), self.step)
        return logits

    def logits_of_unseen(self, task: str) -> dict[str, np.ndarray]:
        """Return the logits of a task's splits but train, by the kept state."""
        known = {"dev": self.dev_logits[task]} if task in self.dev_logits else {}
        return {
            split: known[split] if split in known else self.logits(task, inputs)
            for split, inputs in self.inputs[task].items()
            if split != "train"
        }

    def _train_to(self, end: int, tick: Callable[[], Any]) -> float:
        """Train up to a step; return the mean loss per example, or per batch in joint training."""
        self.trained.train()
        total, weights = 0.0, 0
        for step in range(self.step, end):
            # AdamW's moments belong to the previous task, so they are reset.
            if step in self.starts:
                self.optimizer.state.clear()
            loss, count = self._train_step(step)
            # The last batch of an epoch is shorter and is weighted by its examples; batches of
            # several tasks have equal weights.
            weight = 1 if self.joint else count
            total += loss * weight
            weights += weight
            tick()
        self.step = end
        return total / weights

    def _train_step(self, step: int) -> tuple[float, int]:
        """Take one step; return the loss of its batch and how many examples it has."""
        self.optimizer.zero_grad(set_to_none=True)
        loss, count = self._backward(*self.batches[step])
        # Clipping limits the effect of a single batch.
        nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        self.schedule.step()
        value = loss.item()
        check_finite(value, step)
        return value, count

    def _backward(self, task: str, number: int) -> tuple[Tensor, int]:
        """Compute the gradient of a task's batch; return its loss and how many examples it has."""
        head, labels, config = self.heads[task], self.labels[task], self.config
        # The seeded order of this task, independent of other tasks' batches.
        rows = batch_rows(number, len(labels), config.batch_size, config.seed)
        shared_rows = share(rows) if self.live else rows
        # Features (B, F) to logits (B,) or (B, C); with live inputs, the encoder runs here.
        logits = head(self.inputs[task]["train"].batch(shared_rows))
        loss = head.loss(logits, labels[shared_rows].to(logits.device))
        # This process's part of the mean over the batch; the parts of all processes add up to it.
        loss = loss * (len(shared_rows) / len(rows))
        # Through the head, and on through a live encoder; frozen features have no gradient.
        loss.backward()
        total = loss.detach()
        if self.live:
            sum_gradients(self.parameters)  # other tasks' heads have none in this step
            total = sum_over_ranks(total)
        return total, len(rows)

    def _check(self, loss: float, learnt: str | None) -> None:
        """Score all tasks on dev, keep the best state, and save so that a run can resume."""
        # Earlier tasks are scored too, so the curves show forgetting. If dev decides nothing, an
        # encoder that is tuned for one task is scored only at the end.
        last = self.step == self.checks[-1][0]
        wanted = self.ending.keeps_best or self.joint or not self.live or last
        scores = []
        logits: dict[str, np.ndarray] = {}
        for task, head_task in self.head_tasks.items():
            score = None
            if is_main() and wanted and head_task.splits.dev:
                logits[task] = self.logits(task, self.inputs[task]["dev"])
                score = head_task.dev_score(predicted(self.heads[task], logits[task]))
            score = main_decides(score)
            scores.append(score)
            epoch = len(self.history[task]) + 1
            self.history[task].append({"epoch": epoch, "loss": loss, "dev_score": score})
        if self.ending.best_from is None:
            self.kept_step = self.step
        elif epoch >= self.ending.best_from:
            # An undefined score, such as the correlation of a constant, is worse than any other.
            known = [score for score in scores if score is not None]
            comparable = mean(known) if len(known) == len(scores) else -math.inf
            if comparable > self.best_score or not self.best_state:
                self.best_score, self.kept_step = comparable, self.step
                self.best_state = host_copy(self.trained.state_dict())
        if self.kept_step == self.step:
            self.dev_logits = logits
        # Trials do not need these predictions.
        if self.joint and not self.ending.keeps_best and learnt is not None and is_main():
            self.before[learnt] = {
                split: torch.from_numpy(predicted(self.heads[learnt], rows))
                for split, rows in self.logits_of_unseen(learnt).items()
            }
        if last or self.step - self.saved_step >= SAVE_STEPS:
            self.saved_step = self.step
            save_trainer(self, SAVED)


def head_logits(head: Head, inputs: HeadInputs) -> np.ndarray:
    """Return a head's logits, (N,) or (N, C) float32; it is in evaluation mode."""
    with inputs.reading():
        # (B,) or (B, C) of each batch, without gradient.
        parts = [(rows, head(inputs.batch(rows))) for rows in inputs.batches()]
    # Parts of (B,) or (B, C) become (N,) or (N, C).
    rows = np.concatenate([rows for rows, _ in parts])
    # Batches are sorted by length; this restores the order of the inputs.
    return np.asarray(torch.cat([part for _, part in parts]).cpu().numpy()[np.argsort(rows)])


def reading_speed(encoder: SentenceEncoder, head: Head, head_task: HeadTask) -> float:
    """Return sentences per second from raw text to prediction; a pair counts as two.

    That is tokenizer, encoder and head, without anything that was computed before.
    """
    examples = (head_task.splits.dev or head_task.splits.train)[:SPEED_ROWS]
    started = time.perf_counter()
    head_logits(head, LiveInputs(encoder, examples, head_task.features))
    seconds = time.perf_counter() - started
    return sum(len(example.texts) for example in examples) / seconds


def predicted(head: Head, logits: np.ndarray) -> np.ndarray:
    """Return the predictions (N,) float64 of a head from its logits."""
    return np.asarray(head.predict(torch.from_numpy(logits)).double().numpy())


def soft_of(head: Head, logits: np.ndarray) -> np.ndarray:
    """Return float64 probabilities, (N,) or (N, C), or scores, (N,), from a head's logits."""
    return np.asarray(head.soft(torch.from_numpy(logits).double()).numpy())


def head_soft(head: Head, inputs: HeadInputs) -> np.ndarray:
    """Return the result of `soft_of` for examples that the head has not read yet."""
    return soft_of(head, head_logits(head, inputs))
