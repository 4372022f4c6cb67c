"""Heads on the frozen encoder: 20 epochs of the STS head and 10 of the SST head, 2,000 texts each.

The classroom way runs the encoder again in every epoch. All its batches cost the same on average,
so a quarter of one epoch is measured and counted 80 or 40 times; head and order are ours.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks import peers
from benchmarks.material import Bench, minilm
from benchmarks.measure import Side, Work, expect
from data.examples import Example
from data.locate import data_folder
from data.tasks import TASKS, Splits, read_task
from evaluation.metrics import task_metrics
from heads.config import head_config
from heads.features import BiFeatures
from heads.train import HeadTrainer, build_head, fit_head
from minbert.encoder import SentenceEncoder
from runtime.seeds import set_seed

TEXTS = 2000  # 1,000 pairs or 2,000 sentences of the bundled training files
DEV_ROWS = 100
SLICES = 4  # the classroom reads one of them


def works(bench: Bench) -> Iterator[Work]:
    """Yield both tasks' works."""
    for task in ("sts", "sst"):
        whole = read_task(data_folder("bundled"), task)
        count = TEXTS // TASKS[task].num_texts
        splits = Splits(whole.train[:count], whole.dev[:DEV_ROWS], [])
        yield from _works(task, splits, bench)


def _works(task: str, splits: Splits, bench: Bench) -> Iterator[Work]:
    config = head_config("report", "frozen", task)
    encoder = SentenceEncoder.from_pretrained(
        str(minilm(bench)), pooling="avg", device=str(bench.device)
    )
    gold = np.array([row.label for row in splits.dev], np.float64)

    def score(predictions: np.ndarray) -> float:
        return float(task_metrics(task, predictions, gold)[TASKS[task].main_metric] or 0.0)

    def ours(cache: Path, rows: Splits = splits, epochs: int = config.num_epochs) -> float:
        recipe = replace(config, num_epochs=epochs)
        result = fit_head(encoder, rows, task, "bi", recipe, score, cache)
        return float(result.history[-1]["dev_score"])

    def first(number: int) -> float:
        shutil.rmtree(bench.scratch / "first", ignore_errors=True)
        return ours(bench.scratch / "first")

    part = Splits(splits.train[: len(splits.train) // SLICES], splits.dev, [])
    classroom = Classroom(task, part, score, bench)
    own, other = ours(bench.scratch / "first", part, 1), classroom.epoch(0)
    expect(abs(own - other) <= 0.02, f"{task} dev scores after an epoch: {own:.4f}, {other:.4f}")
    classroom.read_less_of_dev()
    embedded = peers.sentence_transformer(minilm(bench), bench.device, torch.float32)
    times = config.num_epochs * SLICES
    peer_sides = [
        Side("classroom: encoder in every epoch", classroom.epoch, times=times),
        Side(
            "sentence-transformers + scikit-learn",
            lambda r: fitted(embedded, task, splits),
            rounds=1,
        ),
    ]
    ours(bench.scratch / "cached")
    amounts = [len(splits.train)] * bench.rounds
    cached = Side("minbert, embeddings cached", lambda r: ours(bench.scratch / "cached"))
    title = f"{task} head, {config.num_epochs} epochs, frozen MiniLM"
    yield Work(title, "examples", amounts, [Side("minbert", first), cached, *peer_sides])


class Classroom:
    """Course code: transformers in float32, padded batches, the frozen encoder in every epoch."""

    def __init__(self, task: str, splits: Splits, score: Any, bench: Bench):
        from transformers import AutoModel, AutoTokenizer

        self.task, self.score = task, score
        self.config = replace(head_config("report", "frozen", task), num_epochs=1)
        model = AutoModel.from_pretrained(str(minilm(bench))).to(bench.device)
        tokenizer = AutoTokenizer.from_pretrained(str(minilm(bench)))
        combine = BiFeatures(self.config.features).combine
        self.train, self.dev = (
            peers.ClassroomInputs(model, tokenizer, columns_of(rows), combine, bench.device)
            for rows in (splits.train, splits.dev)
        )
        self.labels = np.array([row.label for row in splits.train], np.float64)
        self.hidden_size, self.device = model.config.hidden_size, bench.device

    def read_less_of_dev(self) -> None:
        """Score a slice of dev too: it is read once an epoch, and an epoch is SLICES slices."""
        count = len(self.dev) // SLICES
        self.dev.texts = [texts[:count] for texts in self.dev.texts]
        self.score = lambda predictions: 0.0

    def epoch(self, number: int) -> float:
        """Train a fresh head for one epoch; return its dev score."""
        set_seed(self.config.seed)
        head = build_head(TASKS[self.task], "bi", self.hidden_size, self.config).to(self.device)
        inputs: list[Any] = [self.train, self.dev]
        trainer = HeadTrainer(head, inputs[0], self.labels, inputs[1], self.score, self.config)
        return float(trainer.run()[-1]["dev_score"])


def columns_of(examples: Sequence[Example]) -> list[tuple[str, ...]]:
    """Return all first texts and, of pairs, all second ones."""
    return list(zip(*(example.texts for example in examples), strict=True))


def fitted(model: Any, task: str, splits: Splits) -> np.ndarray:
    """Return dev predictions of scikit-learn on sentence-transformers' embeddings."""
    features = []
    for rows in (splits.train, splits.dev):
        columns = [model.encode(list(texts)) for texts in columns_of(rows)]
        if len(columns) == 2:
            u, v = columns
            columns = [u, v, np.abs(u - v), u * v]
        features.append(np.concatenate(columns, axis=1))
    labels = [row.label for row in splits.train]
    fit = Ridge() if TASKS[task].kind == "score" else LogisticRegression(max_iter=200)
    return np.asarray(fit.fit(features[0], labels).predict(features[1]))
