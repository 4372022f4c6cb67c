"""Where an encoder stands among small BERTs: full fine-tuning on SST-2, MRPC and STS-B.

    python -m benchmarks.yardstick mini "my encoder=path/to/another" --data downloads

A set is learnt from its training file by transformers' BertForSequenceClassification, the last
epoch, and scored on its test file; the learning rate is chosen on dev, with the first seed.
Published figures stand below: literature, by GLUE's server, on the same test sentences.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.probe import encoders_option
from data.locate import locate
from data.sts import read_stsbenchmark
from data.suites import STS, read_pair_set, read_transfer_set
from data.tasks import TASKS, Splits, Task
from evaluation.metrics import labels_of, pearson, spearman, task_metrics
from evaluation.table import csv_text
from runtime.commands import begin, exit_code
from runtime.files import write_text
from runtime.options import option, parse

FIRST_SEED = 42  # as for run_multitask.py
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


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    encoders: tuple[str, ...] = encoders_option()
    data: Path = option(Path("downloads"), "where the sets lie, at any depth", metavar="DIR")
    set: tuple[str, ...] = option(tuple(SETS), "which sets", choices=lambda: tuple(SETS))
    lr: tuple[float, ...] = option(
        (1e-4, 2e-4, 3e-4, 5e-4), "learning rates to choose among", least=1e-12, most=1
    )
    epochs: int = option(4, "epochs", least=1, most=10**6)
    batch_size: int = option(32, "batch size", least=1, most=10**6)
    seeds: int = option(1, "with the rate chosen", least=1, most=1000)
    csv: Path | None = option(None, "the table as a file as well", metavar="FILE")


@dataclass
class Result:
    """One encoder on one set."""

    encoder: str
    set: str
    learning_rate: float
    dev: list[dict[str, float]] = field(default_factory=list)  # by seed
    test: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0  # all rates and seeds

    def shown(self) -> str:
        """Return the test scores: the mean over seeds, and their standard deviation."""
        cells = []
        for name in SETS[self.set].metrics:
            values = [scores[name] for scores in self.test]
            spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
            cells.append(f"{name} {np.mean(values):.3f}{spread}")
        return ", ".join(cells)

    def row(self) -> list[str]:
        """Return the result as a row of the file, in means over seeds; empty: no such metric."""
        row = {"encoder": self.encoder, "set": self.set, "way": "pooler"}
        row |= {"learning_rate": f"{self.learning_rate:g}", "seeds": str(len(self.test))}
        for part, scores in (("dev", self.dev), ("test", self.test)):
            for name in SETS[self.set].metrics:
                row[f"{part}_{name}"] = f"{np.mean([of_seed[name] for of_seed in scores]):.4f}"
        row["seconds"] = f"{self.seconds:.0f}"
        return [row.get(name, "") for name in COLUMNS]


METRICS = ("accuracy", "f1", "pearson", "spearman")
COLUMNS = ["encoder", "set", "way", "learning_rate", "seeds"]
COLUMNS += [f"{part}_{name}" for part in ("dev", "test") for name in METRICS] + ["seconds"]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per result as soon as it is there, then the literature; return an exit code."""
    options = parse(Options, argv, prog="python -m benchmarks.yardstick", description=__doc__)
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Measure, print and, if asked, write."""
    rows = []
    for result in results(options):
        print(
            f"{result.encoder[-30:]:31}{result.set:7}{result.shown():58}"
            f"rate {result.learning_rate:g}, {result.seconds:.0f} s",
            flush=True,
        )
        rows.append(result.row())
        if options.csv:
            write_text(options.csv, csv_text(COLUMNS, rows))
    for model, figures in PUBLISHED.items():
        for name in options.set:
            pairs = zip(SETS[name].metrics, figures[name], strict=True)
            shown = ", ".join(f"{metric} {value:.3f}" for metric, value in pairs)
            print(f"{model:31}{name:7}{shown:58}published")
    if options.csv:
        print(f"table: {options.csv}")


def results(options: Options) -> Iterator[Result]:
    """Yield the result of every encoder and set.

    Raises:
        UserError: an encoder or a set is not there, or training diverged.
    """
    from minbert.hub import find_checkpoint

    named = [name.partition("=") for name in options.encoders]
    # Before hours of training: all must be there.
    folders = [find_checkpoint(folder or title) for title, _, folder in named]
    splits = {name: SETS[name].read(options.data) for name in options.set}
    for (title, _, _), folder in zip(named, folders, strict=True):
        for name, parts in splits.items():
            yield tuned(title, folder, name, parts, options)


def tuned(title: str, folder: Path, name: str, splits: Splits, options: Options) -> Result:
    """Return the result at the rate that is best on dev: the mean of the set's metrics."""
    from benchmarks.classifier import Recipe, tune

    started = time.perf_counter()
    glue = SETS[name]

    def add_seed(result: Result, seed: int) -> None:
        recipe = Recipe(result.learning_rate, options.epochs, options.batch_size, seed)
        guesses = tune(folder, glue.task, splits, recipe)
        result.dev.append(glue.scores(guesses["dev"], labels_of(splits.dev)))
        result.test.append(glue.scores(guesses["test"], labels_of(splits.test)))

    tries = [Result(title, name, rate) for rate in options.lr]
    for result in tries:
        add_seed(result, FIRST_SEED)
    best = max(tries, key=lambda result: np.mean(list(result.dev[0].values())))
    for seed in range(FIRST_SEED + 1, FIRST_SEED + options.seeds):
        add_seed(best, seed)
    best.seconds = time.perf_counter() - started
    return best


if __name__ == "__main__":
    begin()
    sys.exit(main())
