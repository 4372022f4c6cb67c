"""Where an encoder stands among small BERTs: full fine-tuning on SST-2, MRPC and STS-B.

    python -m benchmarks.yardstick mini "my encoder=path/to/another" --data downloads

A set is learnt from its training file and scored on its test file; the learning rate is chosen on
dev, with the first seed. Three ways:

    pooler  transformers' BertForSequenceClassification, the last epoch: how BERTs are judged
    bi      the project's heads, each text by itself, the epoch that is best on dev
    cross   the same, a pair joined (on SST-2 there is no pair, and no such row)

Published figures stand below: literature, by GLUE's server, on the same test sentences.
"""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.glue import PUBLISHED, SETS, labels_of, selection
from benchmarks.probe import encoders_option
from benchmarks.tuning import WAYS, Recipe
from data.tasks import Splits
from evaluation.table import csv_text
from minbert.hub import find_checkpoint
from runtime.files import write_text
from runtime.options import option, parse

FIRST_SEED = 42  # as for run_multitask.py


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    encoders: tuple[str, ...] = encoders_option()
    data: Path = option(Path("downloads"), "where the sets lie, at any depth", metavar="DIR")
    set: tuple[str, ...] = option(tuple(SETS), "which sets", choices=lambda: tuple(SETS))
    way: tuple[str, ...] = option(("pooler",), "how to tune", choices=lambda: tuple(WAYS))
    lr: tuple[float, ...] = option(
        (1e-4, 2e-4, 3e-4, 5e-4), "learning rates to choose among", least=1e-12, most=1
    )
    epochs: int = option(4, "epochs", least=1, most=10**6)
    batch_size: int = option(32, "batch size", least=1, most=10**6)
    seeds: int = option(1, "with the rate chosen", least=1, most=1000)
    rows: int | None = option(
        None, "learn from the first N rows (all)", least=1, most=10**9, metavar="N"
    )
    precision: str = option(
        "auto", "of the matrix products", choices=("auto", "float32", "bfloat16")
    )
    csv: Path | None = option(None, "the table as a file as well", metavar="FILE")


@dataclass
class Result:
    """One encoder on one set, one way."""

    encoder: str
    set: str
    way: str
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

    def row(self) -> dict[str, str]:
        """Return the result as a row of the file, in means over seeds; empty: no such metric."""
        row = {"encoder": self.encoder, "set": self.set, "way": self.way}
        row |= {"learning_rate": f"{self.learning_rate:g}", "seeds": str(len(self.test))}
        for part, scores in (("dev", self.dev), ("test", self.test)):
            for name in SETS[self.set].metrics:
                row[f"{part}_{name}"] = f"{np.mean([one[name] for one in scores]):.4f}"
        return row | {"seconds": f"{self.seconds:.0f}"}


METRICS = ("accuracy", "f1", "pearson", "spearman")
COLUMNS = (
    *("encoder", "set", "way", "learning_rate", "seeds"),
    *(f"{part}_{name}" for part in ("dev", "test") for name in METRICS),
    "seconds",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per result as soon as it is there, then the literature; 2 where one lacks."""
    options = parse(Options, argv, prog="python -m benchmarks.yardstick", description=__doc__)
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Measure, print and, if asked, write."""
    rows = []
    for result in results(options):
        print(
            f"{result.encoder[-30:]:31}{result.set:7}{result.way:8}{result.shown():58}"
            f"rate {result.learning_rate:g}, {result.seconds:.0f} s",
            flush=True,
        )
        rows.append(result.row())
        if options.csv:
            write(options.csv, rows)
    for line in literature(options.set):
        print(line)
    if options.csv:
        print(f"table: {options.csv}")


def results(options: Options) -> Iterator[Result]:
    """Yield the result of every encoder, set and way.

    Raises:
        UserError: an encoder or a set is not there, or training diverged.
    """
    named = [name.partition("=") for name in options.encoders]
    # Before hours of training: all must be there.
    folders = [find_checkpoint(folder or title) for title, _, folder in named]
    splits = {name: SETS[name].read(options.data) for name in options.set}
    for (title, _, _), folder in zip(named, folders, strict=True):
        for name, parts in splits.items():
            cut = Splits(parts.train[: options.rows], parts.dev, parts.test)
            for way in options.way:
                if way != "cross" or SETS[name].task.is_pair:
                    yield tuned(title, folder, name, way, cut, options)


def tuned(
    title: str, folder: Path, name: str, way: str, splits: Splits, options: Options
) -> Result:
    """Return the result at the rate that is best on dev."""
    started = time.perf_counter()
    tries = []
    for rate in options.lr:
        tries.append(Result(title, name, way, rate))
        _run(tries[-1], folder, splits, options, FIRST_SEED)
    best = max(tries, key=lambda found: selection(found.dev[0]))
    for seed in range(FIRST_SEED + 1, FIRST_SEED + options.seeds):
        _run(best, folder, splits, options, seed)
    best.seconds = time.perf_counter() - started
    return best


def _run(result: Result, folder: Path, splits: Splits, options: Options, seed: int) -> None:
    """Tune with one seed and note the scores."""
    recipe = Recipe(
        result.learning_rate, options.epochs, options.batch_size, seed, options.precision
    )
    glue = SETS[result.set]
    guesses = WAYS[result.way](folder, glue, splits, recipe)
    result.dev.append(glue.scores(guesses["dev"], labels_of(splits.dev)))
    result.test.append(glue.scores(guesses["test"], labels_of(splits.test)))


def literature(sets: Sequence[str]) -> list[str]:
    """Return the published test figures as lines of the table."""
    lines = []
    for model, figures in PUBLISHED.items():
        for name in sets:
            pairs = zip(SETS[name].metrics, figures[name], strict=True)
            shown = ", ".join(f"{metric} {value:.3f}" for metric, value in pairs)
            lines.append(f"{model:31}{name:7}{'':8}{shown:58}published")
    return lines


def write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write the table as a file."""
    write_text(path, csv_text(COLUMNS, [[row[name] for name in COLUMNS] for row in rows]))


if __name__ == "__main__":
    sys.exit(main())
