"""The three GLUE sets by which small BERTs are judged, and what has been published about some."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from data.locate import locate
from data.sts import read_stsbenchmark
from data.suites import STS, read_pair_set, read_transfer_set
from data.tasks import TASKS, Splits, Task
from evaluation.metrics import pearson, spearman, task_metrics

Truths = dict[str, np.ndarray]  # dev and test -> labels or predictions (N,)

# Of MRPC's 4,076 training pairs GLUE keeps 408 as dev; here it is every tenth.
DEV_EVERY = 10


@dataclass(frozen=True)
class GlueSet:
    """One set: a task's record, how it is read, and what it is scored by.

    Attributes:
        task: kind of labels, and their largest.
        metrics: in the order in which GLUE names them; their mean on dev selects.
        read: from a folder, anywhere below which its files lie.
    """

    task: Task
    metrics: tuple[str, ...]
    read: Callable[[Path], Splits]

    def scores(self, guesses: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """Return the set's metrics of predictions, (N,) both; 0 for one that is undefined."""
        if self.task.kind == "score":
            found = {"pearson": pearson(guesses, labels), "spearman": spearman(guesses, labels)}
        else:  # two classes: F1 is that of class 1
            found = task_metrics("para", guesses, labels)
        return {name: found[name] or 0.0 for name in self.metrics}


def selection(scores: dict[str, float]) -> float:
    """Return what learning rates are chosen by: the mean of a set's metrics, on dev."""
    return float(np.mean(list(scores.values())))


def labels_of(examples: Sequence[Any]) -> np.ndarray:
    """Return the labels as numbers, (N,)."""
    return np.array([example.label for example in examples], np.float64)


def _sst2(folder: Path) -> Splits:
    return read_transfer_set(folder, "SST2")


def _mrpc(folder: Path) -> Splits:
    splits = read_pair_set(folder, "MRPC")
    train = [pair for row, pair in enumerate(splits.train) if row % DEV_EVERY]
    return Splits(train, splits.train[::DEV_EVERY], splits.test)


def _stsb(folder: Path) -> Splits:
    names = [(f"STSBenchmark/sts-{part}.csv",) for part in ("train", "dev", "test")]
    train, dev, test = map(read_stsbenchmark, locate(folder, "STSBenchmark", names, STS))
    return Splits(train, dev, test)


SETS = {
    "SST-2": GlueSet(replace(TASKS["sst"], name="SST-2", largest=1), ("accuracy",), _sst2),
    "MRPC": GlueSet(replace(TASKS["para"], name="MRPC"), ("f1", "accuracy"), _mrpc),
    "STS-B": GlueSet(replace(TASKS["sts"], name="STS-B"), ("pearson", "spearman"), _stsb),
}

# Literature, not measured here: GLUE's test server (Turc et al. 2019, google-research/bert). SST-2
# was tuned there on 67,349 phrases, of which the 6,920 sentences read here are a part.
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "BERT-Tiny 2 x 128": {"SST-2": (0.832,), "MRPC": (0.811, 0.711), "STS-B": (0.743, 0.736)},
    "BERT-Mini 4 x 256": {"SST-2": (0.859,), "MRPC": (0.811, 0.718), "STS-B": (0.754, 0.733)},
    "BERT-Small 4 x 512": {"SST-2": (0.897,), "MRPC": (0.834, 0.762), "STS-B": (0.788, 0.770)},
}
