"""Full fine-tuning by transformers' own classifier, as BERTs are judged.

Legend: B examples of a batch, N of a split.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks import peers
from benchmarks.peers import PADDED
from data.tasks import Splits, Task
from evaluation.metrics import labels_of
from runtime.device import autocast, choose_device, choose_precision
from runtime.progress import progress
from runtime.training import (
    adamw,
    batch_rows,
    check_finite,
    linear_schedule,
    set_seed,
    steps_per_epoch,
)

MAX_LENGTH = 128
# As BERT was tuned (Devlin et al. 2019, appendix A.3).
WEIGHT_DECAY, WARMUP_RATIO, MAX_GRAD_NORM = 0.01, 0.1, 1.0


@dataclass(frozen=True)
class Recipe:
    """How one model is tuned."""

    learning_rate: float
    num_epochs: int
    batch_size: int
    seed: int


class Classifier:
    """transformers' BertForSequenceClassification: [CLS], pooler, one linear layer.

    The pooler is fresh where the checkpoint has none, the linear layer always. A text is read as
    one sequence, a pair joined as `[CLS] a [SEP] b [SEP]`; one logit is a score.
    """

    def __init__(self, folder: Path, task: Task, recipe: Recipe):
        peers.prepare()
        from transformers import AutoTokenizer, BertForSequenceClassification

        set_seed(recipe.seed)
        self.task, self.recipe = task, recipe
        self.device = choose_device()
        self.dtype = choose_precision("auto", self.device)
        outputs = 1 if task.kind == "score" else 2
        self.tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
        model = BertForSequenceClassification.from_pretrained(str(folder), num_labels=outputs)
        self.model: Any = model.to(self.device, torch.float32)

    def tokens(self, examples: Sequence[Any]) -> list[dict[str, list[int]]]:
        """Return the token ids of each example, cut and not yet padded."""
        columns = [list(column) for column in zip(*(e.texts for e in examples), strict=True)]
        limit = min(MAX_LENGTH, self.model.config.max_position_embeddings)
        found = self.tokenizer(*columns, truncation=True, max_length=limit)
        return [{key: found[key][row] for key in found} for row in range(len(examples))]

    def logits(self, tokens: Sequence[dict[str, list[int]]]) -> torch.Tensor:
        """Return logits of a batch, (B, 2) or (B, 1) float32."""
        batch: PADDED = self.tokenizer.pad(tokens, return_tensors="pt").to(self.device)
        with autocast(self.device, self.dtype):
            logits: torch.Tensor = self.model(**batch).logits
        return logits.float()

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return cross-entropy of classes, the squared error of scores, as transformers does."""
        if self.task.kind == "score":
            return nn.functional.mse_loss(logits.squeeze(-1), labels)
        return nn.functional.cross_entropy(logits, labels.long())

    def train(self, examples: Sequence[Any]) -> None:
        """Train all epochs; the last one's weights stay."""
        recipe, tokens = self.recipe, self.tokens(examples)
        labels = torch.from_numpy(labels_of(examples)).float().to(self.device)
        steps = recipe.num_epochs * steps_per_epoch(len(tokens), recipe.batch_size)
        optimizer = adamw([(self.model, recipe.learning_rate)], WEIGHT_DECAY, ("LayerNorm",))
        schedule = linear_schedule(optimizer, steps, WARMUP_RATIO)
        self.model.train()
        with progress(self.task.name, steps, "step") as bar:
            for step in range(steps):
                rows = batch_rows(step, len(tokens), recipe.batch_size, recipe.seed)
                loss = self.loss(self.logits([tokens[row] for row in rows]), labels[rows])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), MAX_GRAD_NORM)
                optimizer.step()
                schedule.step()
                check_finite(loss.item(), step)
                bar.update()

    def predict(self, examples: Sequence[Any]) -> np.ndarray:
        """Return predictions, (N,): classes or scores."""
        tokens = self.tokens(examples)
        predictions = np.zeros(len(tokens))
        self.model.eval()
        with torch.inference_mode():
            for rows in _by_length(tokens, self.recipe.batch_size):
                logits = self.logits([tokens[row] for row in rows])
                score = self.task.kind == "score"
                found = logits.squeeze(-1) if score else logits.argmax(dim=-1)
                predictions[rows] = found.cpu().numpy()
        return predictions


def _by_length(tokens: Sequence[dict[str, list[int]]], size: int) -> Iterator[np.ndarray]:
    """Yield the rows of all examples in batches of like length, which need little padding."""
    order = np.argsort([len(one["input_ids"]) for one in tokens], kind="stable")
    for start in range(0, len(order), size):
        yield order[start : start + size]


def tune(folder: Path, task: Task, splits: Splits, recipe: Recipe) -> dict[str, np.ndarray]:
    """Return the predictions of dev and test, (N,) each, of a classifier tuned on train."""
    classifier = Classifier(folder, task, recipe)
    classifier.train(splits.train)
    return {"dev": classifier.predict(splits.dev), "test": classifier.predict(splits.test)}
