"""A set of a suite, a model, and the model's results on the set.

Legend: N scored examples.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from baselines.embedder import Embedder, similarities
from data.examples import SentencePair
from data.locate import MissingSet
from data.overlap import Seen, overlap
from data.tasks import Splits
from evaluation.clusters import clusters_of
from evaluation.intervals import Interval, Weighted, percentiles, resampled
from evaluation.metrics import PartMetrics
from evaluation.suites.results import Result

T = TypeVar("T")

# Training pairs, pairs to score -> probability of entailment (N,).
Entailment = Callable[[Sequence[SentencePair], Sequence[SentencePair]], np.ndarray]


@dataclass(frozen=True)
class Model:
    """One row of the tables."""

    embedder: Embedder
    # The texts used for training or selection.
    seen: Seen
    # Name -> an entailment head on the encoder, for HANS; {} without encoder.
    heads: Mapping[str, Entailment] = field(default_factory=dict)
    # The folder for predictions in HANS's format; None keeps none.
    predictions: Path | None = None


@dataclass(frozen=True)
class LoadedSet:
    """An available set in one suite; both have their names on the command line."""

    suite: str
    name: str
    examples: list[Any]  # all of them, in the order of the files
    scored: list[Any]
    train: list[Any] = field(default_factory=list)  # training examples
    dev: list[Any] = field(default_factory=list)  # examples to choose a penalty on
    subsets: np.ndarray | None = None  # (N,) of an STS set: the subset of each scored example

    def texts(self) -> list[str]:
        return list(dict.fromkeys(text for example in self.examples for text in example.texts))


def of_splits(suite: str, name: str, splits: Splits) -> LoadedSet:
    """Return splits as a set; without a test split every row is scored by cross-validation."""
    return LoadedSet(
        suite,
        name,
        examples=[*splits.train, *splits.dev, *splits.test],
        scored=splits.test or splits.train,
        train=splits.train if splits.test else [],
        dev=splits.dev,
    )


def in_first(read: Callable[..., T], folders: Sequence[Path], *name: str) -> T:
    """Return the result of `read` for the first folder that has the files.

    Raises:
        MissingSet: no folder has them; the error of the last folder.
    """
    for folder in folders[:-1]:
        with suppress(MissingSet):
            return read(folder, *name)
    return read(folders[-1], *name)


def spread(pairs: list[SentencePair], most: int) -> list[SentencePair]:
    """Return at most `most` examples, evenly spread, since parts of a file may differ in source."""
    rows = np.linspace(0, len(pairs) - 1, min(len(pairs), most)).astype(int)
    return [pairs[row] for row in rows]


def pair_similarities(embedder: Embedder, pairs: Sequence[SentencePair]) -> np.ndarray:
    """Return a model's similarity of each of N pairs, (N,)."""
    return similarities(embedder, [p.text_a for p in pairs], [p.text_b for p in pairs])


def whole(rows: np.ndarray, metrics: Mapping[str, float | None]) -> PartMetrics:
    """Return metrics of a set without parts as `results_of` reads them."""
    return {("", metric): (value, int(rows.sum())) for metric, value in metrics.items()}


def results_of(
    model: Model,
    loaded: LoadedSet,
    metrics: Callable[[np.ndarray], PartMetrics],
    *,
    judge: str = "",
    measures: Mapping[tuple[str, str], Weighted] | None = None,
) -> list[Result]:
    """Return metrics of all rows, each with its value on the rows without train overlap.

    Args:
        model, loaded: the model and the set.
        metrics: rows to measure, (N,) bool -> their metrics.
        judge: added to the model's name.
        measures: metrics that get an interval, as functions of the weights of all rows.
    """
    intervals: dict[tuple[str, str], Interval | None] = {}
    if measures:
        drawn = resampled([*measures.values()], clusters_of(loaded.scored))
        intervals = dict(zip(measures, map(percentiles, drawn), strict=True))
    seen = overlap(loaded.scored, model.seen).shared
    everything = metrics(np.ones(len(seen), bool))
    unseen = everything
    if seen.any():
        unseen = {} if seen.all() else metrics(~seen)
    results = []
    for (part, metric), (value, n) in everything.items():
        of_part = seen
        if loaded.subsets is not None and part in loaded.subsets:
            of_part = seen[loaded.subsets == part]
        interval = None if value is None else intervals.get((part, metric))
        results.append(
            Result(
                model=f"{model.embedder.name}{judge}",
                suite=loaded.suite,
                set=loaded.name,
                part=part,
                metric=metric,
                value=value,
                n=n,
                seen=float(of_part.mean()) if model.seen.known else None,
                unseen=unseen.get((part, metric), (None, 0))[0] if model.seen.known else None,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
            )
        )
    return results
