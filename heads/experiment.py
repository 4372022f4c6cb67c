"""One cell of the comparison: a head trained and read out for one encoder and one task.

Reads: inputs, the heads, train. Feeds: run_multitask.py, with predictions and a trained head.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.cs224n import Splits
from heads.config import HeadConfig
from heads.cross_encoder import CrossParaphraseHead, CrossSTSHead
from heads.features import feature_size
from heads.head import Head
from heads.inputs import Example, Inputs, LiveInputs, frozen_inputs, texts_of
from heads.paraphrase import ParaphraseHead
from heads.sentiment import SentimentHead
from heads.sts import STSHead
from heads.train import HeadTrainer, Score
from minbert.checkpoint import whole_file, write_tensors
from minbert.distributed import is_main
from minbert.encoder import SentenceEncoder
from minbert.runtime import set_seed

HEADS: dict[tuple[str, str], type[Head]] = {
    ("sst", "bi"): SentimentHead,
    ("para", "bi"): ParaphraseHead,
    ("sts", "bi"): STSHead,
    ("para", "cross"): CrossParaphraseHead,
    ("sts", "cross"): CrossSTSHead,
}


SPEED_ROWS = 512  # enough to time a processor, few enough to cost no time


@dataclass(frozen=True)
class CellResult:
    """Predictions of every split but train, how the head got there, and what it cost."""

    head: Head
    predictions: dict[str, np.ndarray]  # split -> (N,)
    history: list[dict[str, Any]]
    seconds: float  # encoding (unless cached), training, prediction
    sentences_per_second: float  # raw dev text to predictions: tokenizer, encoder, head, no cache


def build_head(task: str, kind: str, hidden_size: int, config: HeadConfig) -> Head:
    """Return the untrained head of a task on `bi` or `cross` features."""
    width = feature_size(hidden_size, kind, config.features, 1 if task == "sst" else 2)
    head_class: Any = HEADS[task, kind]
    head: Head = head_class(width, hidden_size, config.dropout)
    return head


def train_cell(
    encoder: SentenceEncoder,
    splits: Splits,
    task: str,
    kind: str,
    config: HeadConfig,
    dev_score: Score,
    cache: Path,
    state_path: Path | None = None,
    resume: bool = False,
) -> CellResult:
    """Train one head and predict dev and test.

    With `config.tune == "frozen"` the encoder is frozen, read once per distinct text, and not
    touched; with `"full"` it is trained along with the head, in place. The state in `state_path`
    is the caller's to delete, when the result is safe.
    """
    started = time.perf_counter()
    inputs = _inputs(encoder, splits, kind, config, cache)
    set_seed(config.seed)  # the head's initial weights
    head = build_head(task, kind, encoder.model.config.hidden_size, config).to(encoder.device)
    labels = np.array([example.label for example in splits.train], np.float64)
    trainer = HeadTrainer(
        head, inputs["train"], labels, inputs["dev"], dev_score, config, state_path
    )
    history = trainer.run(resume)
    predictions = {name: trainer.predict(inputs[name]) for name in inputs if name != "train"}
    seconds = time.perf_counter() - started
    speed = reading_speed(trainer, encoder, splits.dev[:SPEED_ROWS], kind, config.features)
    return CellResult(head, predictions, history, seconds, speed)


def reading_speed(
    trainer: HeadTrainer,
    encoder: SentenceEncoder,
    examples: Sequence[Example],
    kind: str,
    features: str,
) -> float:
    """Return sentences a second from raw text to prediction; a pair counts as two sentences."""
    started = time.perf_counter()
    trainer.predict(LiveInputs(encoder, examples, kind, features))
    return len(examples) * len(texts_of(examples[0])) / (time.perf_counter() - started)


def save_head(head: Head, path: Path, task: str, kind: str, config: HeadConfig, key: str) -> None:
    """Write a head as safetensors, with what is needed to rebuild it in its metadata.

    The `key` of the cell's results tells later whether the head is theirs.
    """
    if not is_main():
        return
    about = {"task": task, "encoder": kind, "config": json.dumps(asdict(config)), "key": key}
    with whole_file(path) as temporary:
        write_tensors(head.state_dict(), temporary, about)


def _inputs(
    encoder: SentenceEncoder, splits: Splits, kind: str, config: HeadConfig, cache: Path
) -> dict[str, Inputs]:
    """Return train, dev and (where there is one) test inputs, frozen or live."""
    named: dict[str, Sequence[Any]] = {"train": splits.train, "dev": splits.dev}
    if splits.test:
        named["test"] = splits.test
    if config.tune == "frozen":
        encoder.freeze()
        fingerprint = encoder.fingerprint()
        frozen = frozen_inputs(
            encoder, list(named.values()), kind, config.features, cache, fingerprint
        )
        return dict(zip(named, frozen, strict=True))
    return {
        name: LiveInputs(encoder, examples, kind, config.features)
        for name, examples in named.items()
    }
