"""The heads of a finished run, opened again: from raw texts to logits and predictions.

Legend: N examples, n items (see features), H hidden_size. Reads: a run folder. Feeds: report,
search.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from data.tasks import TASKS, Task
from heads.config import HeadConfig
from heads.features import FEATURES, Features, Item
from heads.fitting import HEADS, build_head, head_logits, head_soft
from heads.heads import Head
from heads.inputs import FrozenInputs
from minbert.checkpoint import load_module, read_about, read_file
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.json_file import read_json

# Folder, device, precision, pooling (None: as the folder states) -> encoder.
OpenEncoder = Callable[[Path, str, str, str | None], SentenceEncoder]


@dataclass(frozen=True)
class SavedHead:
    """A trained head and the encoder that it was trained on, both in evaluation mode."""

    encoder: SentenceEncoder
    head: Head
    features: Features
    task: Task
    kind: str  # `bi`, `cross` or `distilled`

    def embed(self, items: Sequence[Item]) -> np.ndarray:
        """Return the embeddings of items, (n, *parts, H) float32; equal ones are read again."""
        sequences = self.features.tokenize(self.encoder, items)
        size = self.encoder.model.config.hidden_size
        embeddings = np.empty((len(items), *self.features.parts, size), np.float32)
        embed = partial(self.features.embed, self.encoder)
        self.encoder.embed_all(sequences, embeddings, embed)
        return embeddings

    def judge(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of examples whose items are embedded.

        Args:
            columns: the embeddings of all first items, of all second ones: (N, *parts, H) each.
        """
        return head_logits(self.head, self._inputs(np.concatenate(columns), len(columns)))

    def logits(self, examples: Sequence[Item]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of the texts of N examples."""
        return head_logits(self.head, self._read(examples))

    def soft(self, examples: Sequence[Item]) -> np.ndarray:
        """Return what predictions are decided by, float64; see heads.heads.Head.soft."""
        return head_soft(self.head, self._read(examples))

    def _read(self, examples: Sequence[Item]) -> FrozenInputs:
        # One column per item of an example: all first texts, then all second ones.
        columns = list(zip(*(self.features.items(texts) for texts in examples), strict=True))
        embeddings = self.embed([item for column in columns for item in column])
        return self._inputs(embeddings, len(columns))

    def _inputs(self, embeddings: np.ndarray, items: int) -> FrozenInputs:
        """Return embeddings, one column after the other, as inputs of `items` per example."""
        index = np.arange(len(embeddings)).reshape(items, -1).T  # (N, items)
        return FrozenInputs(embeddings, index, self.features, self.encoder.device)


def read_head(path: Path) -> tuple[Task, str, HeadConfig]:
    """Return a saved head's task, its kind (`bi`, `cross` or `distilled`) and how it was trained.

    Raises:
        CheckpointError: no file that `heads.fitting.save_head` wrote, or of an unknown task.
    """
    about = read_about(path)
    known = {found.name for found in fields(HeadConfig)}
    try:
        task, kind = TASKS[about["task"]], about["encoder"]
        HEADS[task.kind, kind]
        raw = json.loads(about["config"])
        # Settings that only a later version knows are passed over.
        config = HeadConfig(**{name: value for name, value in raw.items() if name in known})
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: not a head that a run saved ({error!r})") from None
    return task, kind, config


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
    task, kind, config = read_head(path)
    run = path.absolute().parent.parent
    folder, pooling = _encoder_of(run, path.stem, config.tune)
    if not folder.is_dir():
        raise CheckpointError(
            f"{folder}: gone, the encoder under a head; delete {path} and run its command again"
        )
    precision = precision or _options(run).get("precision", "auto")
    encoder = open_encoder(folder, device, precision, pooling).freeze()
    head = build_head(task, kind, encoder.model.config.hidden_size, config)
    load_module(head, read_file(path), path)
    features = FEATURES[kind](config.features)
    return SavedHead(encoder, head.to(encoder.device).eval(), features, task, kind)


def _encoder_of(run: Path, cell: str, tune: str) -> tuple[Path, str | None]:
    """Return the folder of the encoder under a head, PRETRAIN-...-SEED, and how the run pooled."""
    if tune != "frozen":
        return run / "models" / cell, None
    pretrain, seed = cell.split("-")[0], cell.split("-")[-1]
    if pretrain != "none":
        return run / "backbones" / f"{pretrain}-{seed}", None
    return run / "backbones" / "none", _options(run).get("pooling")


def _options(run: Path) -> dict[str, Any]:
    path = run / "config.json"
    try:
        return dict(read_json(path)["options"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not a run's config ({error!r})") from None
