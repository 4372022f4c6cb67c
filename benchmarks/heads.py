"""Heads on the frozen encoder: 20 epochs of the STS head and 10 of the SST head, 2,000 texts each.

The classroom way runs the encoder again in every epoch. All its batches cost the same on average,
so a quarter of one epoch is measured and counted 80 or 40 times; head and order are ours.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor

from benchmarks import peers
from benchmarks.engine import Side, Work, expect
from benchmarks.inputs import Bench, minilm
from data.examples import Example
from data.locate import data_folder
from data.tasks import TASKS, Splits, read_task
from evaluation.metrics import labels_of, task_metrics
from heads.config import HeadConfig, head_config
from heads.features import BiFeatures
from heads.train import HeadTrainer, build_head, fit_head
from minbert.encoder import SentenceEncoder
from runtime.training import set_seed

TEXTS = 2000  # 1,000 pairs or 2,000 sentences of the bundled training files
DEV_ROWS = 100
SLICES = 4  # the classroom reads one of them


def heads(bench: Bench) -> Iterator[Work]:
    """Yield both tasks' works."""
    for task in ("sts", "sst"):
        whole = read_task(data_folder("bundled"), task)
        count = TEXTS // TASKS[task].num_texts
        yield _heads(task, Splits(whole.train[:count], whole.dev[:DEV_ROWS], []), bench)


def _heads(task: str, splits: Splits, bench: Bench) -> Work:
    config = head_config("report", "frozen", task)
    encoder = SentenceEncoder.from_pretrained(
        str(minilm(bench)), pooling="avg", device=str(bench.device)
    )
    gold = labels_of(splits.dev)

    def score(predictions: np.ndarray) -> float:
        return float(task_metrics(task, predictions, gold)[TASKS[task].main_metric] or 0.0)

    def ours(cache: Path, rows: Splits = splits, epochs: int = config.num_epochs) -> float:
        recipe = replace(config, num_epochs=epochs)
        result = fit_head(encoder, rows, task, "bi", recipe, score, cache)
        return float(result.history[-1]["dev_score"])

    def from_scratch(number: int) -> float:
        shutil.rmtree(bench.scratch / "first", ignore_errors=True)
        return ours(bench.scratch / "first")

    part = Splits(splits.train[: len(splits.train) // SLICES], splits.dev, [])
    one_epoch = replace(config, num_epochs=1)
    own = ours(bench.scratch / "first", part, 1)
    other = Classroom(task, part, score, one_epoch, bench).epoch(0)
    expect(abs(own - other) <= 0.02, f"{task} dev scores after an epoch: {own:.4f}, {other:.4f}")
    # A slice of dev, too: it is read once an epoch, and an epoch is SLICES slices.
    part = Splits(part.train, part.dev[: len(part.dev) // SLICES], [])
    classroom = Classroom(task, part, lambda predictions: 0.0, one_epoch, bench)
    embedded = peers.sentence_transformer(minilm(bench), bench.device, torch.float32)
    ours(bench.scratch / "cached")
    sides = [
        Side("minbert", from_scratch),
        Side("minbert, embeddings cached", lambda r: ours(bench.scratch / "cached")),
        Side(
            "classroom: encoder in every epoch", classroom.epoch, times=config.num_epochs * SLICES
        ),
        Side(
            "sentence-transformers + scikit-learn",
            lambda r: fitted(embedded, task, splits),
            rounds=1,
        ),
    ]
    title = f"{task} head, {config.num_epochs} epochs, frozen MiniLM"
    return Work(title, "examples", [len(splits.train)] * bench.rounds, sides)


class Classroom:
    """Course code: transformers in float32, padded batches, the frozen encoder in every epoch."""

    def __init__(
        self,
        task: str,
        splits: Splits,
        score: Callable[[np.ndarray], float],
        config: HeadConfig,
        bench: Bench,
    ):
        from transformers import AutoModel, AutoTokenizer

        self.task, self.score, self.config = task, score, config
        model = AutoModel.from_pretrained(str(minilm(bench))).to(bench.device)
        tokenizer = AutoTokenizer.from_pretrained(str(minilm(bench)))
        self.train, self.dev = (
            ClassroomInputs(model, tokenizer, columns_of(rows), config, bench.device)
            for rows in (splits.train, splits.dev)
        )
        self.labels = labels_of(splits.train)
        self.hidden_size, self.device = model.config.hidden_size, bench.device

    def epoch(self, number: int) -> float:
        """Train a fresh head for one epoch; return its dev score."""
        set_seed(self.config.seed)
        head = build_head(TASKS[self.task], "bi", self.hidden_size, self.config).to(self.device)
        inputs: list[Any] = [self.train, self.dev]
        trainer = HeadTrainer(head, inputs[0], self.labels, inputs[1], self.score, self.config)
        return float(trainer.run()[-1]["dev_score"])


class ClassroomInputs:
    """A head's inputs as course code computes them: tokenizer and encoder again in every epoch."""

    def __init__(
        self,
        model: torch.nn.Module,
        tokenizer: Any,
        texts: Sequence[Sequence[str]],
        config: HeadConfig,
        device: torch.device,
    ):
        self.model, self.tokenizer, self.texts = model.eval(), tokenizer, texts
        self.features, self.device = BiFeatures(config.features), device

    def __len__(self) -> int:
        return len(self.texts[0])

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`."""
        embeddings = []
        for texts in self.texts:
            batch = peers.padded(self.tokenizer, [texts[row] for row in rows], 512, self.device)
            with torch.no_grad():
                states = self.model(**batch).last_hidden_state  # (B, T, H)
            mask = batch["attention_mask"].unsqueeze(-1)  # (B, T, 1)
            embeddings.append((states * mask).sum(1) / mask.sum(1))
        return self.features.combine(embeddings)

    def batches(self) -> list[np.ndarray]:
        """Return the rows of all examples in batches of 64."""
        return np.array_split(np.arange(len(self)), range(64, len(self), 64))

    def reading(self) -> AbstractContextManager[Any]:
        """Return the context in which predictions are made."""
        return torch.inference_mode()


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
    fit = Ridge() if TASKS[task].kind == "score" else LogisticRegression(max_iter=200)
    fit.fit(features[0], labels_of(splits.train))
    return np.asarray(fit.predict(features[1]))
