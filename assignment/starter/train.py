"""Trains on one task with what you wrote, and writes predictions: where the open part begins.

    python train.py --task sts
    python train.py --task sts --reader cross --simcse 100

In a student's tree it is `train.py`. Small on purpose: no schedule, no early stopping, one seed,
not all rows: two cores take less than three minutes.
Legend: B rows of a batch, H hidden_size.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent / "kit"))

from assignment.starter.adamw import AdamW
from assignment.starter.contrastive import descend, training_step, unsupervised_views
from assignment.starter.metrics import accuracy, pearson
from data.sentences import iter_sentences
from data.tasks import TASKS, Task, read_task
from heads.features import FEATURES
from heads.heads import build_head
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError

SENTENCES, TEMPERATURE = "wiki1m_for_simcse.txt", 0.05
REPORT_SECONDS = 5


class Reader:
    """An encoder, a head, and how an example becomes the head's features."""

    def __init__(self, encoder: SentenceEncoder, task: Task, kind: str):
        self.encoder, self.features = encoder, FEATURES[kind](form="interaction")
        self.head = build_head(task, kind, encoder.model.config.hidden_size)
        self.modules = torch.nn.ModuleList([encoder.model, self.head])

    def logits(self, examples: Sequence[Any]) -> Tensor:
        """Return the logits of B examples."""
        columns = zip(*(self.features.items(example.texts) for example in examples), strict=True)
        items = [item for column in columns for item in column]
        batch = self.features.tokenize(self.encoder, items).pack(range(len(items)))
        embeddings = self.features.embed(self.encoder, batch)
        logits: Tensor = self.head(self.features.combine(embeddings.split(len(examples))))
        return logits

    def predict(self, examples: Sequence[Any], what: str) -> np.ndarray:
        """Return the predictions of all examples, (N,)."""
        self.modules.eval()
        with torch.inference_mode():
            batches = _batches(examples, 64, what)
            parts = [self.head.predict(self.logits(batch)) for batch in batches]
        return torch.cat(parts).numpy()


def _batches(rows: Sequence[Any], size: int, what: str) -> Iterator[Sequence[Any]]:
    """Yield the rows in batches, and print now and then how far this is."""
    start = last = time.monotonic()
    for first in range(0, len(rows), size):
        now = time.monotonic()
        if first and now - last > REPORT_SECONDS:
            left = (now - start) / first * (len(rows) - first)
            print(f"{what}: {first} of {len(rows)}, about {left:.0f} s left", flush=True)
            last = now
        yield rows[first : first + size]


def tune_by_simcse(encoder: SentenceEncoder, folder: Path, steps: int) -> None:
    """Train the encoder on sentences without labels, 64 at a time."""
    model: Any = encoder  # in a student's tree it is a module itself
    optimizer = AdamW(encoder.model.parameters(), lr=3e-5, weight_decay=0.0)
    sentences = list(iter_sentences(folder / SENTENCES))[: 64 * steps]
    for texts in _batches(sentences, 64, "SimCSE, sentences"):
        batch = encoder.tokenize(list(texts)).pack(range(len(texts)))
        loss = training_step(optimizer, unsupervised_views(model, batch), TEMPERATURE)
    print(f"SimCSE: loss {loss:.3f} in the last step", flush=True)


def train(reader: Reader, examples: Sequence[Any], epochs: int, rate: float) -> None:
    """Train encoder and head on the labelled examples, 32 at a time."""
    optimizer = AdamW(reader.modules.parameters(), lr=rate, weight_decay=0.0)
    for epoch in range(epochs):
        order, total = np.random.permutation(len(examples)), 0.0
        reader.modules.train()
        for rows in _batches(order.tolist(), 32, f"epoch {epoch + 1} of {epochs}, rows"):
            batch = [examples[row] for row in rows]
            labels = torch.tensor([float(example.label) for example in batch])
            loss = reader.head.loss(reader.logits(batch), labels)
            total += descend(optimizer, loss) * len(batch)
        print(f"epoch {epoch + 1} of {epochs}: loss {total / len(examples):.3f}", flush=True)


def write_predictions(path: Path, task: Task, examples: Sequence[Any], values: np.ndarray) -> None:
    """Write a file in the leaderboard's format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{example.id} , {value} " for example, value in zip(examples, values, strict=True)]
    header = f"id \t {task.prediction_header} "
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--task", choices=("sst", "para", "sts"), required=True)
    parser.add_argument("--reader", choices=("bi", "cross"), default="bi")
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "datasets")
    parser.add_argument("--checkpoint", default="mini", help="a folder in Hugging Face's format")
    parser.add_argument("--simcse", type=int, default=0, metavar="STEPS")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--rows", type=int, default=2000, help="train only on the first N rows")
    parser.add_argument("--out", type=Path, default=Path("predictions"))
    options = parser.parse_args()
    if options.reader == "cross" and TASKS[options.task].num_texts == 1:
        parser.error(f"--task {options.task} has one text: --reader bi")
    torch.manual_seed(0)
    np.random.seed(0)
    task, splits = TASKS[options.task], read_task(options.data, options.task)
    examples = splits.train[: options.rows]
    print(f"plan: train a {options.reader}-encoder on {len(examples)} of {len(splits.train)} rows")
    print(
        f"      of {task.name} for {options.epochs} epochs, after {options.simcse} steps of SimCSE;"
    )
    print(
        f"      then predict {len(splits.dev)} rows of dev and {len(splits.test)} of test",
        flush=True,
    )
    encoder = SentenceEncoder.from_pretrained(options.checkpoint, "avg")
    if options.simcse:
        tune_by_simcse(encoder, options.data, options.simcse)
    reader = Reader(encoder, task, options.reader)
    train(reader, examples, options.epochs, options.lr)
    for split, examples in (("dev", splits.dev), ("test", splits.test)):
        if not examples:  # some published data come without a test file
            continue
        predictions = reader.predict(examples, f"predictions of {split}")
        write_predictions(
            options.out / f"{task.name}-{split}-output.csv", task, examples, predictions
        )
        if split == "dev":
            labels = np.array([example.label for example in examples])
            name, metric = (
                ("pearson", pearson) if task.label_kind == "score" else ("accuracy", accuracy)
            )
            print(f"dev {name}: {metric(predictions, labels)}")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
