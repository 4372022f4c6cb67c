"""The silver pairs of `--distill`: unlabelled pairs, labelled by the run's own cross-encoder.

Augmented SBERT (Thakur et al. 2021, arXiv:2010.08240): a bi-encoder learns from gold pairs and from
silver ones, whose labels are the cross-encoder's probabilities or scores as they are.
Reads: silver, inputs, heads.saved, the run folder. Feeds: cells.
"""

import copy
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch

from baselines.isbert import load_tuned
from data.examples import SentencePair
from evaluation.geometry import unit
from experiment.backbones import Say
from experiment.inputs import Inputs
from experiment.silver import NEAREST, drawn, paired_anew
from heads.cache import frozen_embeddings
from heads.features import BiFeatures, Item
from heads.saved import load_head
from minbert.encoder import SentenceEncoder
from report.cell import Coordinates
from report.run_folder import RunFolder
from runtime.processes import barrier, share, sum_over_ranks, world_size
from runtime.progress import progress
from simcse.stage import Backbone

AT_ONCE = 2048  # pairs that are labelled between two steps of the progress bar


class Distillation:
    """What distilled heads of a run learn beside gold pairs; nothing for heads of other kinds."""

    def __init__(self, inputs: Inputs, untuned: Backbone, folder: RunFolder, say: Say):
        self.inputs, self.untuned, self.folder, self.say = inputs, untuned, folder, say
        # The same for all contrastive stages and ways to tune.
        self._pairs = cache(self._drawn)

    def made_of(self, head: Coordinates) -> list[Any]:
        """Return what decides the pairs of a head, apart from the task's own files and the seed."""
        settings = self.inputs.settings
        if head.encoder != "distilled":
            return []
        if settings.distill_data is not None:
            return [settings.distill_pairs, self.inputs.digests["distill"]]
        return [settings.distill_pairs, NEAREST, self._fingerprint]

    def silver(self, head: Coordinates) -> list[SentencePair]:
        """Return the pairs with the labels of the cross-encoder of the same setting and seed.

        They are written into the run folder, too. The teacher is its saved head, so that a resumed
        run has the same labels.

        Raises:
            CheckpointError: the teacher's head or encoder is damaged or gone.
        """
        if head.encoder != "distilled":
            return []
        pairs = self._pairs(head.task, head.seed)
        teacher = replace(head, encoder="cross").name
        self.say(f"          {len(pairs):,} unlabelled pairs, labelled by {teacher}")
        labels = self._labels(teacher, pairs) if pairs else np.zeros(0)
        silver = [
            replace(pair, label=label) for pair, label in zip(pairs, labels.tolist(), strict=True)
        ]
        self.folder.write_silver(head.name, head.task, silver)
        return silver

    def _labels(self, teacher: str, pairs: list[SentencePair]) -> np.ndarray:
        """Return the cross-encoder's probabilities or scores, (N,) float64.

        Every process reads its share.
        """
        settings = self.inputs.settings
        barrier()  # the teacher is written by one of them
        path = self.folder.head_path(teacher)
        head = load_head(path, load_tuned, settings.device, settings.precision)
        labels = np.zeros(len(pairs))
        with progress("label", len(pairs), "pair") as bar:
            for start in share(list(range(0, len(pairs), AT_ONCE))):
                part = [pair.texts for pair in pairs[start : start + AT_ONCE]]
                labels[start : start + AT_ONCE] = head.soft(part)
                bar.update(len(part) * world_size())
        sum_over_ranks(torch.from_numpy(labels))  # rows of other ranks are zeros so far
        return labels

    def _drawn(self, task: str, seed: int) -> list[SentencePair]:
        source, count = self.inputs.unlabelled[task], self.inputs.settings.distill_pairs
        if source.pairs:
            return drawn(source.pairs, count, seed)
        items: list[Item] = [(text,) for text in source.texts]
        reader = self._searcher.freeze(), self._fingerprint, BiFeatures("concat")
        embeddings = frozen_embeddings(*reader, items, self.folder.path.parent / "cache")
        directions = unit(embeddings).astype(np.float32)
        train = self.inputs.splits[task].train
        return paired_anew(source.texts, directions, train, count, seed)

    @cached_property
    def _searcher(self) -> SentenceEncoder:
        """Return the untuned encoder, which averages tokens unless its checkpoint says otherwise.

        Of BERT as it is, the mean of the tokens tells more of similarity than [CLS] (Reimers &
        Gurevych 2019, table 1).
        """
        encoder = copy.copy(self.untuned.encoder)
        encoder.pool_by(encoder.stated_pooling or "avg")
        return encoder

    @cached_property
    def _fingerprint(self) -> str:
        return self._searcher.fingerprint(self.untuned.weights)
