"""The heads of a finished run, opened again: from raw texts to logits and predictions.

Legend: N examples, n items (see features), H hidden_size. Reads: a run folder. Feeds: report.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from data.tasks import TASKS, Task
from heads.config import HeadConfig
from heads.features import FEATURES, Features, Item
from heads.fitting import HEADS, build_head
from heads.head import Head
from minbert.checkpoint import load_module, read_about, read_file
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.packing import batches_by_tokens

BLOCK = 1024  # rows of features at a time
# Folder, pooling, device, precision -> encoder.
OpenEncoder = Callable[[str, str | None, str, str], SentenceEncoder]


@dataclass(frozen=True)
class SavedHead:
    """A trained head and the encoder that it was trained on, both in evaluation mode."""

    encoder: SentenceEncoder
    head: Head
    features: Features
    task: Task
    kind: str  # `bi` or `cross`

    def embed(self, items: Sequence[Item]) -> np.ndarray:
        """Return the embeddings of items, (n, *parts, H) float32; equal ones are read again."""
        sequences = self.features.tokenize(self.encoder, items)
        size = self.encoder.model.config.hidden_size
        embeddings = np.empty((len(items), *self.features.parts, size), np.float32)
        with self.encoder.reading(sequences):
            for rows in batches_by_tokens(sequences.lengths, self.encoder.batch_tokens):
                found = self.features.embed(self.encoder, sequences.pack(rows))
                embeddings[rows] = found.cpu().numpy()
        return embeddings

    def judge(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of examples whose items are embedded.

        Args:
            columns: the embeddings of all first items, of all second ones: (N, *parts, H) each.
        """
        found = []
        with torch.inference_mode():
            for start in range(0, len(columns[0]), BLOCK):
                parts = (torch.from_numpy(column[start : start + BLOCK]) for column in columns)
                features = self.features.combine([part.to(self.encoder.device) for part in parts])
                found.append(self.head(features).cpu().numpy())
        return np.concatenate(found)

    def logits(self, examples: Sequence[Item]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of the texts of N examples."""
        # One column per item of an example: all first texts, then all second ones.
        columns = list(zip(*(self.features.items(texts) for texts in examples), strict=True))
        embeddings = self.embed([item for column in columns for item in column])
        return self.judge(np.split(embeddings, len(columns)))

    def predict(self, examples: Sequence[Item]) -> np.ndarray:
        """Return predictions (N,), as in the run's files: classes or scores."""
        logits = torch.from_numpy(self.logits(examples))
        return self.head.predict(logits).numpy().astype(np.float64)

    def soft_predict(self, examples: Sequence[Item]) -> np.ndarray:
        """Return how sure the predictions are: float64, by the kind of the task's labels.

        Binary: the probability of 1, (N,). Classes: of each class, (N, C). Scores have none and
        are returned as they are, (N,).
        """
        logits = torch.from_numpy(self.logits(examples)).double()
        if self.task.kind == "score":
            return self.head.predict(logits).numpy()
        soft = logits.sigmoid() if self.task.kind == "binary" else logits.softmax(dim=-1)
        return soft.numpy()


def load_head(
    run_folder: Path,
    cell: str,
    device: str = "auto",
    open_encoder: OpenEncoder = SentenceEncoder.from_pretrained,
) -> SavedHead:
    """Return the trained head of a cell and its encoder.

    Args:
        run_folder: of a finished run.
        cell: the cell's name, such as `sup-sts-bi-frozen-interaction-42`.
        device: `auto`, `cpu` or `cuda`; the precision is that of the run.
        open_encoder: opens the encoder's folder.

    Raises:
        CheckpointError: the head, its encoder or the run's config is missing or damaged.
    """
    path = run_folder / "heads" / f"{cell}.safetensors"
    about = read_about(path)
    try:
        task, kind = TASKS[about["task"]], about["encoder"]
        config = _head_config(json.loads(about["config"]))
        HEADS[task.kind, kind]
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: no head of a run, or a damaged one ({error!r})") from None
    folder, pooling = _encoder_of(run_folder, cell, config.tune)
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: the cell's encoder is gone; run the run's command again")
    precision = _options(run_folder).get("precision", "auto")
    encoder = open_encoder(str(folder), pooling, device, precision).freeze()
    head = build_head(task, kind, encoder.model.config.hidden_size, config)
    load_module(head, read_file(path), path)
    features = FEATURES[kind](config.features)
    return SavedHead(encoder, head.to(encoder.device).eval(), features, task, kind)


def _head_config(raw: dict[str, Any]) -> HeadConfig:
    """Return the head's settings; those that only a later version knows are passed over."""
    known = {found.name for found in fields(HeadConfig)}
    return HeadConfig(**{name: value for name, value in raw.items() if name in known})


def _encoder_of(run_folder: Path, cell: str, tune: str) -> tuple[Path, str | None]:
    """Return the folder of a cell's encoder, and the pooling where the folder does not state it."""
    if tune != "frozen":
        return run_folder / "models" / cell, None
    pretrain, *_, seed = cell.split("-")
    if pretrain != "none":
        return run_folder / "backbones" / f"{pretrain}-{seed}", None
    return run_folder / "backbones" / "none", _options(run_folder).get("pooling")


def _options(run_folder: Path) -> dict[str, Any]:
    path = run_folder / "config.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["options"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not a run's config ({error!r})") from None
