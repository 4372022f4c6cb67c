"""One head of the comparison: trained on frozen features or with a live encoder, and applied.

One loop for all heads. Of several processes, all train a live encoder together; a head on frozen
features, which takes seconds, is trained by each of them alike; the first one scores and predicts.
Legend: B examples of a batch, N of a split, C classes.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from data.examples import Example
from data.tasks import TASKS, Splits, Task
from heads.config import TUNES, HeadConfig
from heads.features import FEATURES, Features
from heads.heads import HEADS, Head, STSClassifierHead
from heads.inputs import Inputs, LiveInputs, cls_is_of_interest, inputs_of
from heads.published import load_classifier, own_classifier, reads_cls
from minbert.checkpoint import write_tensors
from minbert.encoder import SentenceEncoder
from minbert.fast.dropout import set_dropout
from minbert.model import UNDECAYED, BertModel
from runtime.device import one_thread
from runtime.files import whole_file
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
    linear_schedule,
    resume_trainer,
    save_trainer,
    set_seed,
    steps_per_epoch,
)

Score = Callable[[np.ndarray], float | None]

# A head of fewer weights, on frozen features, is trained by one thread: several gain nothing, and
# on a busy machine they wait for each other.
SHARED_WEIGHTS = 2**20
SPEED_ROWS = 256  # enough to measure speed, few enough to take little time


@dataclass(frozen=True)
class FittedHead:
    """Predictions of every split but train, how training went, and what it cost."""

    head: Head
    predictions: dict[str, np.ndarray]  # split -> (N,)
    inputs: dict[str, Inputs]  # split -> what they were made from
    history: list[dict[str, Any]]
    seconds: float  # encoding (unless cached), training, prediction
    sentences_per_second: float  # raw dev text to predictions: tokenizer, encoder, head, no cache
    # split -> (N,), as they were when a joint training had just learnt this task and no later one.
    before: dict[str, np.ndarray] = field(default_factory=dict)

    def logits(self, split: str) -> np.ndarray:
        """Return what the predictions of a split were made from, (N,) or (N, C) float32."""
        return head_logits(self.head, self.inputs[split])


def fit_head(
    encoder: SentenceEncoder,
    splits: Splits,
    task: str,
    reader: str,
    config: HeadConfig,
    dev_score: Score,
    cache: Path,
    state_path: Path | None = None,
    resume: bool = False,
    fingerprint: str | None = None,
    inputs: dict[str, Inputs] | None = None,
    epoch: int | None = None,
) -> FittedHead:
    """Train one head and predict dev and test; of several processes, all call this.

    With `config.tune == "frozen"` the encoder is frozen and read once per distinct text; with
    `"full"` or `"last2"`, it or its last two layers are trained along with the head, in place.

    Args:
        encoder: frozen here, or trained in place.
        splits: the task's.
        task: its name.
        reader: one of `heads.config.READERS`.
        config: the settings.
        dev_score: dev predictions -> what to maximise.
        cache: the folder of frozen embeddings.
        state_path: of the resumable state; the caller deletes it once the result is written.
        resume: continue from that state.
        fingerprint: of the encoder, if already known.
        inputs: of every split, if they are at hand; else they are made here.
        epoch: to stop after, chosen beforehand; None keeps the one with the best `dev_score`.
    """
    started = time.perf_counter()
    features = FEATURES[reader](config.features)
    if inputs is None:
        cls = cls_is_of_interest(encoder, TASKS[task], reader)
        named = by_name(splits)
        inputs = inputs_of(encoder, named, features, config.tune, cache, fingerprint, cls)
    trainer = trainer_of(
        encoder, inputs, splits.train, task, reader, config, dev_score, state_path, epoch
    )
    history = trainer.run(resume)

    def applied() -> tuple[dict[str, np.ndarray], float, float]:
        """Return the predictions of all splits but train, the seconds so far, and the speed."""
        found = {name: trainer.predict(rows) for name, rows in inputs.items() if name != "train"}
        seconds = time.perf_counter() - started
        rows = splits.dev[:SPEED_ROWS]
        return found, seconds, reading_speed(trainer.predict, encoder, rows, features)

    predictions, seconds, speed = main_decides(applied() if is_main() else None)
    return FittedHead(trainer.head, predictions, inputs, history, seconds, speed)


def trainer_of(
    encoder: SentenceEncoder,
    inputs: dict[str, Inputs],
    examples: Sequence[Example],
    task: str,
    reader: str,
    config: HeadConfig,
    dev_score: Score,
    state_path: Path | None,
    epoch: int | None = None,
) -> "HeadTrainer":
    """Return the trainer of a new head, and of what `config.tune` names of its encoder.

    Args:
        inputs: of the training and the development split.
        examples: of the training split.
        encoder, task, reader, config, dev_score, state_path, epoch: as of `fit_head`.
    """
    if config.tune != "frozen":
        unfreeze(encoder.model, TUNES[config.tune])
    set_seed(config.seed)  # the head's initial weights
    hidden_size = encoder.model.config.hidden_size
    head = build_head(TASKS[task], reader, hidden_size, config).to(encoder.device)
    if own := own_classifier(encoder, TASKS[task], reader, config):
        load_classifier(head, own)
    # Classes and scores alike are float here; each head's loss makes of them what it needs.
    labels = np.array([example.label for example in examples], np.float64)
    return HeadTrainer(
        head, inputs["train"], labels, inputs["dev"], dev_score, config, state_path, epoch
    )


def by_name(splits: Splits) -> dict[str, list[Any]]:
    """Return the splits that have examples, by name."""
    found = {"train": splits.train, "dev": splits.dev, "test": splits.test}
    return {name: rows for name, rows in found.items() if rows or name != "test"}


def unfreeze(model: BertModel, layers: int | None) -> None:
    """Make the last `layers` of an encoder trainable and nothing else of it; None: everything.

    Below them no gradient is computed, which saves time as well.
    """
    model.requires_grad_(layers is None)
    for layer in model.encoder.layer[-layers:] if layers else ():
        layer.requires_grad_(True)


def build_head(task: Task, encoder: str, hidden_size: int, config: HeadConfig) -> Head:
    """Return the untrained head of a task on the features of an encoder, `bi`, `late`, `cross`."""
    form = "cls" if reads_cls(task, encoder, config.features) else encoder
    # F, which depends on how many vectors an example has and how they are combined.
    width = FEATURES[encoder](config.features).width(hidden_size, task.num_texts)
    head: Head = HEADS[task.label_kind, form](width, hidden_size, config.dropout, task.largest)
    return head


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
        epoch: to stop after, chosen beforehand; None keeps the one with the best `dev_score`.
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
        epoch: int | None = None,
    ):
        set_seed(config.seed)
        self.head, self.train, self.dev, self.dev_score = head, train, dev, dev_score
        self.labels = torch.from_numpy(labels).float()
        self.config, self.state_path = config, state_path
        self.trained = nn.ModuleDict({"head": head})
        rates: list[tuple[nn.Module, float]] = [(head, config.learning_rate)]
        # Several processes share the batches of a live encoder; frozen features are not worth it.
        self.together = isinstance(train, LiveInputs)
        if isinstance(train, LiveInputs):
            self.trained["encoder"] = train.encoder.model
            rates.append((train.encoder.model, config.backbone_learning_rate))
            if config.backbone_dropout is not None:
                set_dropout(train.encoder.model, config.backbone_dropout)
            draw_apart(config.seed)  # each process has its own dropout
        # A tuned encoder has a rate of its own: its weights are near where they should be.
        self.optimizer = adamw(rates, config.weight_decay, UNDECAYED)
        self.steps_per_epoch = 0
        if config.num_epochs:  # a published head is trained for none, and has no rows to train on
            self.steps_per_epoch = steps_per_epoch(len(train), config.batch_size)
        num_steps = self.steps_per_epoch * config.num_epochs
        self.schedule = linear_schedule(self.optimizer, num_steps, config.warmup_ratio)
        self.chosen_epoch = epoch
        self.epoch = 0
        self.history: list[dict[str, Any]] = []
        self.best_score = -math.inf
        self.best_state: dict[str, Tensor] = {}

    def run(self, resume: bool = False, label: str = "head") -> list[dict[str, Any]]:
        """Train all epochs and leave the state of the best dev epoch in place.

        With an epoch chosen beforehand, stop after it; the rates fall as if all were to come.

        Returns:
            One record per epoch: epoch, loss (mean over examples), dev_score.
        """
        if resume:
            resume_trainer(self)
        num_epochs = self.chosen_epoch or self.config.num_epochs
        weights = sum(parameter.numel() for parameter in self.head.parameters())
        few = one_thread(not self.together and weights < SHARED_WEIGHTS)
        with few, progress(label, num_epochs * self.steps_per_epoch, "step") as bar:
            bar.update(self.epoch * self.steps_per_epoch)
            while self.epoch < num_epochs:
                loss = self._train_epoch(bar.update)
                self.epoch += 1
                self._check(loss)
                bar.set_postfix(loss=f"{loss:.3f}", dev=f"{self.best_score:.4f}")
        if self.best_state:
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
            own = share(rows) if self.together else rows
            # Features (B, F) to logits (B,) or (B, C); of live inputs, the encoder runs here.
            logits = self.head(self.train.batch(own))
            loss = self.head.loss(logits, self.labels[own].to(logits.device))
            # Its part of the mean over the joint batch: the shares of all processes add up to it.
            loss = loss * (len(own) / len(rows))
            self.optimizer.zero_grad(set_to_none=True)
            # Through the head, and on through a live encoder; frozen features have no gradient.
            loss.backward()
            joint = loss.detach()
            if self.together:
                sum_gradients(self.trained.parameters())
                joint = sum_over_ranks(joint)
            # One unlucky batch must not undo what was learnt.
            nn.utils.clip_grad_norm_(self.trained.parameters(), config.max_grad_norm)
            self.optimizer.step()
            self.schedule.step()
            check_finite(joint.item(), step)
            # The last batch of an epoch is shorter, and counts by its examples.
            total += joint.item() * len(rows)
            count += len(rows)
            tick()
        return total / count

    def _check(self, loss: float) -> None:
        """Score on dev, keep the best state, and save so that a killed run can resume."""
        score = main_decides(self.dev_score(self.predict(self.dev)) if is_main() else None)
        self.history.append({"epoch": self.epoch, "loss": loss, "dev_score": score})
        # An undefined score, such as the correlation of a constant, is worse than any other.
        comparable = -math.inf if score is None else score
        last_is_kept = self.chosen_epoch is not None
        if last_is_kept or comparable > self.best_score or not self.best_state:
            self.best_score = comparable
            self.best_state = host_copy(self.trained.state_dict())
        save_trainer(self, ("epoch", "history", "best_score", "best_state"))


def head_logits(head: Head, inputs: Inputs) -> np.ndarray:
    """Return a head's logits, (N,) or (N, C) float32; it is in evaluation mode."""
    with inputs.reading():
        # (B,) or (B, C) of each batch, without gradient.
        parts = [(rows, head(inputs.batch(rows))) for rows in inputs.batches()]
    # Parts of (B,) or (B, C) become (N,) or (N, C).
    rows = np.concatenate([rows for rows, _ in parts])
    # Batches go by length; this puts the rows back into the order of the inputs.
    return np.asarray(torch.cat([part for _, part in parts]).cpu().numpy()[np.argsort(rows)])


def head_soft(head: Head, inputs: Inputs) -> np.ndarray:
    """Return what a head decides by, float64: probabilities, (N,) or (N, C), or scores, (N,)."""
    logits = torch.from_numpy(head_logits(head, inputs)).double()
    return np.asarray(head.soft(logits).numpy())


def predictions(head: Head, inputs: Inputs, step: int) -> np.ndarray:
    """Return a head's predictions (N,) float64; it and its encoder are in evaluation mode.

    Raises:
        TrainingError: training has diverged before this `step`.
    """
    logits = torch.from_numpy(head_logits(head, inputs))
    check_finite(logits.abs().max().item(), step)
    return np.asarray(head.predict(logits).double().numpy())


def reading_speed(
    predict: Callable[[Inputs], np.ndarray],
    encoder: SentenceEncoder,
    examples: Sequence[Example],
    features: Features,
) -> float:
    """Return sentences per second from raw text to prediction; a pair counts as two sentences."""
    started = time.perf_counter()
    predict(LiveInputs(encoder, examples, features))
    return sum(len(e.texts) for e in examples) / (time.perf_counter() - started)


def save_head(
    head: Head, path: Path, task: str, reader: str, config: HeadConfig, key: str, pretrain: str
) -> None:
    """Write a head as safetensors, with what is needed to rebuild it in its metadata.

    Args:
        head: trained.
        path: of the file.
        task, reader, config: as `fit_head` was given them.
        key: of the cell's results; it shows later whether the head belongs to them.
        pretrain: the contrastive stage under it, `none`, `unsup`, ...
    """
    if not is_main():
        return
    about = {"task": task, "encoder": reader, "pretrain": pretrain, "key": key}
    if isinstance(head, STSClassifierHead):
        about["activation"] = head.activation
    with whole_file(path) as temporary:
        write_tensors(head.state_dict(), temporary, about | {"config": json.dumps(asdict(config))})
