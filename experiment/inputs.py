"""All that the settings name: found, checked and read once, before anything is computed.

Reads: data, minbert, simcse's readers. Feeds: backbones, cells, comparison.
"""

import copy
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from baselines.isbert import FILE as ISBERT
from baselines.objectives import ALL_OBJECTIVES
from data.examples import Example
from data.locate import data_folder, training_file
from data.overlap import Seen
from data.selection import hold_out, selection_pairs
from data.tables import content_digest
from data.tasks import TASKS, read_task
from experiment.grid import pairings, seeds
from experiment.settings import Settings, file_setting
from heads.config import TUNES
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.hub import find_checkpoint
from runtime.digests import digest
from runtime.errors import UserError
from runtime.processes import main_first
from simcse.stage import Backbone, TrainingTexts, read_texts


class Inputs:
    """The files of a run, found; `load` reads those that only later stages need."""

    def __init__(self, settings: Settings):
        """Find everything and read the tasks.

        Raises:
            DataError, CheckpointError: something is missing or broken.
        """
        self.settings = settings
        with main_first():  # missing files are downloaded once
            self.data_folder = data_folder(settings.data)
            self.backbone_folder = find_checkpoint(settings.backbone)
        self.splits = {task: read_task(self.data_folder, task) for task in settings.tasks}
        self.files = {name: self._training_file(name) for name in settings.objectives}
        self.selection = selection_pairs(self.data_folder) if self.files else []
        self.seen: dict[str, Seen] = {name: Seen() for name in settings.pretrain}
        self.texts: dict[str, TrainingTexts] = {}

    def load(self) -> Backbone:
        """Load the backbone and read the training texts, so that errors in them show now.

        Raises:
            DataError, CheckpointError, MachineError, TrainingError: as the stages would.
            UserError: more layers are to be tuned than there are.
        """
        settings = self.settings
        if (self.backbone_folder / ISBERT).is_file():
            raise CheckpointError(
                f"{self.backbone_folder}: IS-BERT's embeddings are the mean of its convolutions, "
                "which --backbone would drop; measure it with python -m evaluation"
            )
        # A pooling set by the user replaces the checkpoint's own, supported or not, and SimCSE's
        # [CLS] adds a pooler: the checkpoint need not have one.
        encoder = SentenceEncoder.from_pretrained(
            *(str(self.backbone_folder), settings.pooling, settings.device, settings.precision),
            tuning=True,
        )
        if settings.pooling and "none" in settings.pretrain:
            copy.copy(encoder).pool_by(settings.pooling)  # refused if it lacks the pooler
        if any(kind == "cross" for _, kind in pairings(settings)):
            encoder.tokenize(["a"], ["pair"])  # refused by a backbone of one segment
        layers = encoder.model.config.num_hidden_layers
        for tune in settings.tune:
            if (TUNES[tune] or 0) > layers:
                raise UserError(f"--tune {tune}: {settings.backbone} has {layers} layers")
        backbone = Backbone(self.backbone_folder, encoder)
        for name in settings.objectives:
            self.texts[name] = self._read(name, backbone)
        return backbone

    @cached_property
    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of everything that is trained on, selected by or scored."""
        digests = {name: content_digest(path) for name, path in self.files.items()}
        digests["selection"] = digest([asdict(pair) for pair in self.selection])
        for task, splits in self.splits.items():
            rows = (*splits.train, *splits.dev, *splits.test)
            digests[task] = digest([asdict(example) for example in rows])
        return digests

    def kept_and_held_out(self, task: str) -> tuple[list[Any], list[Any]]:
        """Return the examples to train heads on, and those that only thresholds are chosen by."""
        train = self.splits[task].train
        return hold_out(train) if TASKS[task].kind == "binary" else (train, [])

    def seen_by(self, pretrain: str, trained_on: list[Example]) -> Seen:
        """Return every text and pair read in training a head and its backbone."""
        seen = copy.deepcopy(self.seen[pretrain])
        seen.add_examples(trained_on)
        return seen

    def _training_file(self, name: str) -> Path:
        named = self.settings.training_file(name)
        flag = f"--{file_setting(name).replace('_', '-')}"
        return training_file(name, ALL_OBJECTIVES[name].source, named, self.data_folder, flag)

    def _read(self, name: str, backbone: Backbone) -> TrainingTexts:
        """Read a training file once: its token ids for training, its texts for the audit."""
        config = self.settings.simcse_config(name, seeds(self.settings)[0])
        return read_texts(
            ALL_OBJECTIVES[name],
            self.files[name],
            backbone,
            config,
            self.selection,
            self.data_folder,
            self.seen[name],
        )
