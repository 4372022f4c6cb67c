"""A head that a run saved, opened again: what `heads.fitting.save_head` wrote, read back.

Reads: fitting. Feeds: search.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.examples import Example
from data.tasks import TASKS, Task
from heads.config import HeadConfig
from heads.features import FEATURES, Features
from heads.fitting import build_head, head_logits
from heads.head import Head
from heads.inputs import LiveInputs
from minbert.checkpoint import load_module, read_about, read_file
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder


@dataclass(frozen=True)
class SavedHead:
    """What the metadata of a head's file say.

    Attributes:
        path: the file.
        task: what it was trained for.
        kind: `bi` or `cross`.
        config: how it was trained.
    """

    path: Path
    task: Task
    kind: str
    config: HeadConfig

    @classmethod
    def find(cls, path: Path) -> "SavedHead":
        """Read the metadata of a file, not its weights.

        Raises:
            CheckpointError: no file that `save_head` wrote, or one for a task that is not known.
        """
        about = read_about(path)
        try:
            config = HeadConfig(**json.loads(about["config"]))
            return cls(path, TASKS[about["task"]], about["encoder"], config)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{path}: not a head that a run saved ({error!r})") from None

    def on(self, encoder: SentenceEncoder) -> "OpenedHead":
        """Return the head with its weights, on the encoder that it was trained on.

        Raises:
            CheckpointError: the file is damaged, or the encoder is of another size.
        """
        head = build_head(self.task, self.kind, encoder.model.config.hidden_size, self.config)
        load_module(head, read_file(self.path), self.path)
        features = FEATURES[self.kind](self.config.features)
        return OpenedHead(head.to(encoder.device).eval(), encoder, features)


@dataclass(frozen=True)
class OpenedHead:
    """A trained head and the encoder under it."""

    head: Head
    encoder: SentenceEncoder
    features: Features

    def logits(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the logits of examples, (N,) or (N, C) float32."""
        return head_logits(self.head, LiveInputs(self.encoder, examples, self.features))
