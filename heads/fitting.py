"""One head of the comparison, trained and applied, for one encoder and one task.

Reads: inputs, the heads, training. Feeds: experiment, with predictions and a trained head.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from data.examples import Example
from data.tasks import TASKS, Splits, Task
from heads.config import TUNES, HeadConfig
from heads.features import FEATURES, Features
from heads.heads import HEADS, Head
from heads.inputs import Inputs, LiveInputs, frozen_inputs
from heads.training import HeadTrainer, Score
from minbert.checkpoint import write_tensors
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel
from runtime.files import whole_file
from runtime.processes import is_main
from runtime.seeds import set_seed

SPEED_ROWS = 512  # enough to measure speed, few enough to take little time


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


def head_logits(head: Head, inputs: Inputs) -> np.ndarray:
    """Return a head's logits, (N,) or (N, C) float32; it is in evaluation mode."""
    with inputs.reading():
        parts = [(rows, head(inputs.batch(rows))) for rows in inputs.batches()]
    # Parts of (B,) or (B, C) become (N,) or (N, C).
    rows = np.concatenate([rows for rows, _ in parts])
    # Batches go by length; this puts the rows back into the order of the inputs.
    return np.asarray(torch.cat([part for _, part in parts]).cpu().numpy()[np.argsort(rows)])


def build_head(task: Task, encoder: str, hidden_size: int, config: HeadConfig) -> Head:
    """Return the untrained head of a task on the features of `bi`, `cross` or `distilled`."""
    width = FEATURES[encoder](config.features).width(hidden_size, task.num_texts)
    head: Head = HEADS[task.kind, encoder](width, hidden_size, config.dropout, task.largest)
    return head


def fit_head(
    encoder: SentenceEncoder,
    splits: Splits,
    task: str,
    kind: str,
    config: HeadConfig,
    dev_score: Score,
    cache: Path,
    state_path: Path | None = None,
    resume: bool = False,
    fingerprint: str | None = None,
    inputs: dict[str, Inputs] | None = None,
) -> FittedHead:
    """Train one head and predict dev and test.

    With `config.tune == "frozen"` the encoder is frozen and read once per distinct text; with
    `"full"` or `"last2"`, it or its last two layers are trained along with the head, in place.

    Args:
        encoder: frozen here, or trained in place.
        splits: the task's.
        task: its name.
        kind: `bi`, `cross` or `distilled`.
        config: the settings.
        dev_score: dev predictions -> what to maximise.
        cache: the folder of frozen embeddings.
        state_path: of the resumable state; the caller deletes it once the result is written.
        resume: continue from that state.
        fingerprint: of the encoder, if already known.
        inputs: of every split, if they are at hand; else they are made here.
    """
    started = time.perf_counter()
    features = FEATURES[kind](config.features)
    named: dict[str, Sequence[Example]] = {"train": splits.train, "dev": splits.dev}
    named |= {"test": splits.test} if splits.test else {}
    inputs = inputs or inputs_of(encoder, named, features, config, cache, fingerprint)
    if config.tune != "frozen":
        unfreeze(encoder.model, TUNES[config.tune])
    set_seed(config.seed)  # the head's initial weights
    hidden_size = encoder.model.config.hidden_size
    head = build_head(TASKS[task], kind, hidden_size, config).to(encoder.device)
    labels = np.array([example.label for example in splits.train], np.float64)
    trainer = HeadTrainer(
        head, inputs["train"], labels, inputs["dev"], dev_score, config, state_path
    )
    history = trainer.run(resume)
    predictions = {name: trainer.predict(inputs[name]) for name in inputs if name != "train"}
    seconds = time.perf_counter() - started
    speed = reading_speed(trainer.predict, encoder, splits.dev[:SPEED_ROWS], features)
    return FittedHead(head, predictions, inputs, history, seconds, speed)


def unfreeze(model: BertModel, layers: int | None) -> None:
    """Make the last `layers` of an encoder trainable and nothing else of it; None: everything.

    Below them no gradient is computed, which saves time as well.
    """
    model.requires_grad_(layers is None)
    for layer in model.encoder.layer[-layers:] if layers else ():
        layer.requires_grad_(True)


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


def save_head(head: Head, path: Path, task: str, kind: str, config: HeadConfig, key: str) -> None:
    """Write a head as safetensors, with what is needed to rebuild it in its metadata.

    The `key` of the cell's results shows later whether the head belongs to them.
    """
    if not is_main():
        return
    about = {"task": task, "encoder": kind, "config": json.dumps(asdict(config)), "key": key}
    with whole_file(path) as temporary:
        write_tensors(head.state_dict(), temporary, about)


def head_soft(head: Head, inputs: Inputs) -> np.ndarray:
    """Return what a head decides by, float64: probabilities, (N,) or (N, C), or scores, (N,)."""
    logits = torch.from_numpy(head_logits(head, inputs)).double()
    return np.asarray(head.soft(logits).numpy())


def inputs_of(
    encoder: SentenceEncoder,
    named: Mapping[str, Sequence[Example]],
    features: Features,
    config: HeadConfig,
    cache: Path,
    fingerprint: str | None = None,
) -> dict[str, Inputs]:
    """Return the inputs of every split by its name, frozen or live; arguments as `fit_head`'s."""
    if config.tune != "frozen":
        return {name: LiveInputs(encoder, rows, features) for name, rows in named.items()}
    encoder.freeze()
    frozen = frozen_inputs(
        encoder, fingerprint or encoder.fingerprint(), list(named.values()), features, cache
    )
    return dict(zip(named, frozen, strict=True))
