"""The heads of a finished run, opened again: from raw texts to logits and predictions.

Legend: N examples, n items (see features), H hidden_size.
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
from heads.heads import HEADS, Head, STSClassifierHead
from heads.inputs import FrozenInputs, embedded
from heads.train import build_head, head_logits, head_soft
from minbert.checkpoint import load_module, read_about, read_file
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError
from runtime.files import read_json

# Folder, device, precision, pooling (None: as the folder states) -> encoder.
OpenEncoder = Callable[[Path, str, str, str | None], SentenceEncoder]


@dataclass(frozen=True)
class SavedHead:
    """A trained head and the encoder that it was trained on, both in evaluation mode."""

    encoder: SentenceEncoder
    head: Head
    features: Features
    task: Task
    reader: str  # one of `heads.config.READERS`

    def embed(self, items: Sequence[Item]) -> np.ndarray:
        """Return the embeddings of items, (n, *parts, H) float32; equal ones are read again."""
        sequences = self.features.tokenize(self.encoder, items)
        return embedded(self.encoder, self.features, sequences)

    def judge(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of examples whose items are embedded.

        Args:
            columns: the embeddings of all first items, of all second ones: (N, *parts, H) each.
        """
        # Columns one below the other, (items * N, *parts, H), as `_read` has them.
        return head_logits(self.head, self._inputs(np.concatenate(columns), len(columns)))

    def logits(self, examples: Sequence[Item]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of the texts of N examples."""
        return head_logits(self.head, self._read(examples))

    def soft(self, examples: Sequence[Item]) -> np.ndarray:
        """Return what predictions are decided by, float64; see heads.heads.Head.soft."""
        return head_soft(self.head, self._read(examples))

    def predict(self, examples: Sequence[Item | str]) -> np.ndarray:
        """Return the predictions (N,) of the texts of N examples: scores, 0 and 1, or classes.

        Args:
            examples: a tuple of texts each; of a task with one text, it may be given by itself.

        Raises:
            UserError: an example with another number of texts.
        """
        items = [(texts,) if isinstance(texts, str) else tuple(texts) for texts in examples]
        for row, texts in enumerate(items):
            if len(texts) != self.task.num_texts:
                wanted = f"{self.task.num_texts}, as {' and '.join(self.task.texts)}"
                raise UserError(f"example {row} has {len(texts)} text(s); expected {wanted}")
        if not items:
            return np.empty(0)
        return np.asarray(self.head.predict(torch.from_numpy(self.logits(items))).numpy())

    def _read(self, examples: Sequence[Item]) -> FrozenInputs:
        # One column per item of an example: all first texts, then all second ones.
        columns = list(zip(*(self.features.items(texts) for texts in examples), strict=True))
        embeddings = self.embed([item for column in columns for item in column])
        return self._inputs(embeddings, len(columns))

    def _inputs(self, embeddings: np.ndarray, items: int) -> FrozenInputs:
        """Return embeddings, one column after the other, as inputs of `items` per example."""
        # Row c * N + i is item c of example i: (items, N) -> (N, items).
        index = np.arange(len(embeddings)).reshape(items, -1).T
        return FrozenInputs(embeddings, index, self.features, self.encoder.device)


def read_head(path: Path) -> tuple[Task, str, HeadConfig]:
    """Return a saved head's task, its reader (of `heads.config.READERS`), how it was trained.

    Raises:
        CheckpointError: no file that `heads.train.save_head` wrote, or of an unknown task.
    """
    about = read_about(path)
    known = {found.name for found in fields(HeadConfig)}
    try:
        task, reader = TASKS[about["task"]], about["encoder"]
        # Looked up for its KeyError: earlier versions knew kinds that no head is made for now.
        HEADS[task.label_kind, reader]
        raw = json.loads(about["config"])
        # Settings that only a later version knows are passed over.
        config = HeadConfig(**{name: value for name, value in raw.items() if name in known})
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: not a head that a run saved ({error!r})") from None
    return task, reader, config


def load_head(
    path: Path, open_encoder: OpenEncoder, device: str = "auto", precision: str | None = None
) -> SavedHead:
    """Return a trained head and its encoder.

    Args:
        path: RUN/heads/CELL.safetensors in the folder of a finished run.
        open_encoder: opens the encoder's folder.
        device: `auto`, `cpu` or `cuda`.
        precision: `auto`, `float32`, ...; that of the run if None.

    Raises:
        CheckpointError: the head, its encoder or the run's config is missing or damaged.
    """
    task, reader, config = read_head(path)
    run = path.absolute().parent.parent
    # A tuned encoder lies under its head's name; a frozen one is that of all heads of its stage.
    folder, pooling = run / "models" / path.stem, None
    if config.tune == "frozen":
        # Heads of 0.14.0 and before have it in the file's name alone, PRETRAIN-...
        pretrain = read_about(path).get("pretrain") or path.stem.split("-")[0]
        folder = run / "backbones" / ("none" if pretrain == "none" else f"{pretrain}-{config.seed}")
        if pretrain == "none":  # as the run pooled, whatever the checkpoint states
            pooling = _options(run).get("pooling")
    if not folder.is_dir():
        raise CheckpointError(
            f"{folder}: gone, the encoder under a head; delete {path} and run its command again"
        )
    precision = precision or _options(run).get("precision", "auto")
    encoder = open_encoder(folder, device, precision, pooling).freeze()
    head = build_head(task, reader, encoder.model.config.hidden_size, config)
    load_module(head, read_file(path), path)
    # The activation of a published cross-encoder is no tensor: the file says which it is.
    if isinstance(head, STSClassifierHead):
        head.activation = read_about(path).get("activation", head.activation)
    features = FEATURES[reader](config.features)
    return SavedHead(encoder, head.to(encoder.device).eval(), features, task, reader)


def _options(run: Path) -> dict[str, Any]:
    path = run / "config.json"
    try:
        return dict(read_json(path)["options"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not a run's config ({error!r})") from None
