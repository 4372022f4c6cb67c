"""The runs whose numbers are kept: ten steps of every kind of training, and one tiny grid.

All in float32 with one thread, on a tiny random BERT and toy data, so that a change of the code
that should leave the numbers alone can be seen to leave them alone, to the last digit.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from conftest import toy_sentences

from data.examples import Triplet
from data.tasks import TASKS, read_task
from evaluation.metrics import AVERAGE_PRECISION, task_metrics
from heads.config import HeadConfig
from heads.train import HeadTask, fit_heads
from minbert.encoder import SentenceEncoder
from run_multitask import main
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised

STEPS = 10


def load(checkpoint: Path) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")


def simcse(checkpoint: Path, pretrain: str, **settings: Any) -> list[float]:
    """Return the losses of ten contrastive steps."""
    encoder = load(checkpoint)
    texts = toy_sentences(120, 3)
    if pretrain == "unsup":
        data = unsupervised(texts, encoder.tokenizer, 32)
    else:
        triplets = [
            Triplet(a, a.replace("the", "a"), b)
            for a, b in zip(texts[:60], texts[60:], strict=True)
        ]
        data = supervised(triplets, encoder.tokenizer, 32)
    config = SimCSEConfig(
        batch_size=12, learning_rate=1e-3, num_epochs=9, max_steps=STEPS, eval_steps=1, **settings
    )
    return [record["loss"] for record in SimCSETrainer(encoder, data, config).run()]


def head(
    checkpoint: Path, data: Path, cache: Path, task: str, encoder: str, **settings: Any
) -> list[float]:
    """Return the losses and dev scores of ten steps of a head."""
    splits = read_task(data, task)
    labels = np.array([example.label for example in splits.dev], np.float64)
    config = HeadConfig(
        batch_size=len(splits.train), learning_rate=1e-2, num_epochs=STEPS, **settings
    )

    def score(predictions: np.ndarray) -> float | None:
        return task_metrics(task, predictions, labels)[TASKS[task].main_metric]

    head_task = HeadTask(task, encoder, config, splits, score)
    (result,) = fit_heads(load(checkpoint), [head_task], cache)
    return [record[name] for record in result.history for name in ("loss", "dev_score")]


def grid(checkpoint: Path, data: Path, folder: Path, *flags: str) -> dict[str, Any]:
    """Return the scores of every cell of a command, by its name."""
    argv = ["--backbone", str(checkpoint), "--data", str(data), "--run-dir", str(folder)]
    argv += "--simcse-steps 4 --eval-steps 2 --head-epochs 2 --device cpu --cost-seconds 0".split()
    argv += ["--select", "dev"]  # as in the course
    assert main([*argv, "--precision", "float32", "--threads", "1", *flags]) == 0
    names = ("pretrain", "task", "reader", "tune", "features", "seed", "split")
    return {
        "-".join(str(cell[name]) for name in names): [
            *(cell["metrics"][n] for n in sorted({*cell["metrics"]} - {AVERAGE_PRECISION})),
            cell["overlap"]["sentences"],
            *(cell["overlap"]["metrics_on_rest"].get(n) for n in ("accuracy", "pearson")),
        ]
        for cell in json.loads((folder / "results.json").read_text())
    }


def all_runs(checkpoint: Path, data: Path, scratch: Path) -> dict[str, Any]:
    """Return the numbers of every run by its name."""
    numbers: dict[str, Any] = {
        "unsup": simcse(checkpoint, "unsup", pooling="cls", mlp="training"),
        "sup": simcse(checkpoint, "sup", pooling="cls"),
        "sup, average": simcse(checkpoint, "sup", pooling="avg", hard_negative_weight=2.0),
        "sup, MLM": simcse(checkpoint, "sup", pooling="cls", mlm_weight=0.1),
        "sup, symmetric": simcse(checkpoint, "sup", pooling="cls", symmetric=True),
        "sup, chunks": simcse(checkpoint, "sup", pooling="cls", chunk_tokens=100),
    }
    for task, encoder in [
        *(("sst", "bi"), ("para", "bi"), ("para", "cross"), ("sts", "bi"), ("sts", "cross"))
    ]:
        for tune in ("frozen", "full"):
            settings = {"tune": tune, "backbone_learning_rate": 1e-3 if tune == "full" else 0.0}
            numbers[f"head, {task} {encoder} {tune}"] = head(
                checkpoint, data, scratch / "cache", task, encoder, **settings
            )
    flags = "--pretrain none unsup sup --task all --reader bi cross".split()
    numbers |= grid(checkpoint, data, scratch / "frozen" / "r", *flags)
    flags = "--task sts --reader bi cross --tune full --seeds 2 --features concat".split()
    numbers |= grid(checkpoint, data, scratch / "full" / "r", *flags)
    return numbers
