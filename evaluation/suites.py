"""The suites: which sets each one reads, what it measures on them, and its tables."""

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from baselines.embedder import Embedder, Vectors, similarities
from data.examples import DataError, Example, SentencePair
from data.locate import MissingSet
from data.overlap import Seen, overlap
from data.suites import (
    HANS_SETS,
    PAIR_SETS,
    STS_SETS,
    TRANSFER_SETS,
    read_hans,
    read_nli,
    read_pair_set,
    read_sts_set,
    read_transfer_set,
)
from data.tasks import TASKS, Splits
from evaluation.clusters import clusters_of
from evaluation.geometry import pair_geometry
from evaluation.intervals import TAILS, Weighted, weighted_metric, weightings
from evaluation.metrics import PartMetrics, labels_of
from evaluation.pairs import best_threshold, hans_metrics, hans_predictions, pair_metrics
from evaluation.results import Result, Shown
from evaluation.sts import set_metrics
from evaluation.transfer import cross_validated, pair_vectors, transfer_metrics, with_split
from runtime.files import write_text

# The papers' averages are over these.
SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
# SimCSE draws its alignment and uniformity on STS-B's dev set (figure 2).
GEOMETRY_SETS = ("STSBenchmark-dev", "synthetic-sts")
# Training pairs for a threshold or a small head: more would take long to encode and change little.
MOST_PAIRS, FEWEST_PAIRS = 20_000, 10
FEWEST_ROWS = 4  # training rows of each class: two folds in each of two folds

# Training pairs (label 1 = entailment), pairs to score -> probability of entailment (N,).
Entailment = Callable[[Sequence[SentencePair], Sequence[SentencePair]], np.ndarray]


@dataclass(frozen=True)
class Model:
    """One row of the tables.

    Attributes:
        embedder: the model itself.
        seen: the texts that it was trained on or selected by.
        heads: name -> a head on the encoder that learns entailment, for HANS; {} without encoder.
        predictions: the folder for predictions in HANS's own format; None keeps none.
    """

    embedder: Embedder
    seen: Seen = field(default_factory=Seen)
    heads: Mapping[str, Entailment] = field(default_factory=dict)
    predictions: Path | None = None


@dataclass(frozen=True)
class HansData:
    """The pairs of HANS, and the NLI pairs (label 1.0 = entailment) to learn entailment from."""

    pairs: list[SentencePair]
    nli: list[SentencePair]


# What a set holds; of STS, scored pairs by subset.
Content = dict[str, list[SentencePair]] | Splits | HansData


@dataclass(frozen=True)
class LoadedSet:
    """A set that was found, as one suite reads it."""

    suite: "Suite"
    name: str
    content: Any

    def examples(self) -> list[Example]:
        """Return all its examples."""
        if isinstance(self.content, Splits):
            return [*self.content.train, *self.content.dev, *self.content.test]
        if isinstance(self.content, HansData):
            return [*self.content.pairs, *self.content.nli]
        return list(chain(*self.content.values()))

    def scored(self) -> list[Example]:
        """Return the examples that are scored; without a split, every row is, in its fold."""
        if isinstance(self.content, Splits):
            return self.content.test or self.content.train
        if isinstance(self.content, HansData):
            return list(self.content.pairs)
        return self.examples()

    def texts(self) -> list[str]:
        """Return its distinct texts."""
        return list(dict.fromkeys(text for one in self.examples() for text in one.texts))

    def measure(self, model: Model) -> list[Result]:
        """Return the results of a model, fitted to the set's texts where it can be."""
        if model.embedder.adapt is not None:
            model = replace(model, embedder=model.embedder.adapt(self.texts()))
        return self.suite.measure(model, self)


# --- what each suite measures


def measure_sts(model: Model, sts: LoadedSet) -> list[Result]:
    """Return Spearman and Pearson of the similarities, for each subset and over all."""
    pairs = sts.scored()
    subsets = np.array([subset for subset, own in sts.content.items() for _ in own])
    scores = np.concatenate([_similarities(model.embedder, own) for own in sts.content.values()])
    gold = labels_of(pairs)

    def metrics(rows: np.ndarray) -> PartMetrics:
        own = {subset: rows & (subsets == subset) for subset in sts.content}
        return set_metrics(
            {subset: scores[kept] for subset, kept in own.items()},
            {subset: gold[kept] for subset, kept in own.items()},
        )

    measures = {
        ("all", name): weighted_metric(name, TASKS["sts"], scores[None], gold)
        for name in TASKS["sts"].metrics
    }
    return _results(model, sts, metrics, subsets=subsets, measures=measures)


def measure_pairs(model: Model, pairs: LoadedSet) -> list[Result]:
    """Return average precision, accuracy and F1 of the similarities as a classifier."""
    train, test = pairs.content.train, pairs.content.test
    scores, labels = _similarities(model.embedder, test), labels_of(test)
    known = (_similarities(model.embedder, train), labels_of(train)) if train else ()
    return _results(
        model, pairs, lambda rows: _whole(rows, pair_metrics(scores[rows], labels[rows], *known))
    )


def measure_transfer(model: Model, task: LoadedSet) -> list[Result]:
    """Return accuracy (and F1 of two classes) of a logistic regression on frozen vectors.

    Raises:
        DataError: folds of the training rows would lack a class.
    """
    if model.embedder.embed is None:
        return []
    splits = task.content
    classes = labels_of(splits.train).astype(np.int64)
    counts = dict(zip(*np.unique(classes, return_counts=True), strict=True))
    if len(counts) < 2 or min(counts.values()) < FEWEST_ROWS:
        shown = ", ".join(f"class {c}: {n}" for c, n in counts.items())
        raise DataError(
            f"{task.name}: training rows by class are {shown}; expected two or more classes of at "
            f"least {FEWEST_ROWS} rows"
        )
    train = _features(model.embedder, splits.train)
    if splits.test:
        dev: tuple[Any, ...] = ()
        if splits.dev:
            dev = (_features(model.embedder, splits.dev), labels_of(splits.dev).astype(np.int64))
        predictions = with_split(train, classes, _features(model.embedder, splits.test), *dev)
    else:
        predictions = cross_validated(train, classes)
    labels = labels_of(task.scored()).astype(np.int64)
    return _results(
        model,
        task,
        lambda rows: _whole(rows, transfer_metrics(predictions[rows], labels[rows])),
        measures={
            ("", "accuracy"): weighted_metric("accuracy", TASKS["sst"], predictions[None], labels)
        },
    )


def measure_hans(model: Model, hans: LoadedSet) -> list[Result]:
    """Return HANS's accuracies of the similarity and of the heads, as models of their own.

    The similarity calls entailment what lies above the threshold that is best on the NLI pairs.
    Those pairs count as seen, too. Without any, there is no threshold and no head: what is left is
    the area under the curve. `NLI, held out` is each judge's accuracy on a tenth of the NLI pairs.
    """
    nli, pairs = hans.content.nli, hans.content.pairs
    # The last tenth of the NLI pairs is not learnt from: without the accuracy there, that on HANS
    # cannot be read.
    held_out = nli[len(nli) - len(nli) // 10 :]
    learnt = nli[: len(nli) - len(held_out)]
    asked = [*pairs, *held_out]
    threshold = math.nan
    if nli:
        known = _similarities(model.embedder, learnt)
        threshold = best_threshold(known, labels_of(learnt), "accuracy")
    kind = "cosine" if model.embedder.compare is None else "similarity"
    scores = {kind: (_similarities(model.embedder, asked), threshold)}
    for head, entailment in model.heads.items() if nli else ():
        scores[head] = (entailment(learnt, asked), 0.5)
    seen = copy.copy(model.seen)
    seen.add_examples(nli)
    results = []
    for judge, (both, least) in scores.items():
        entailed, on_nli = both[: len(pairs)], both[len(pairs) :]
        name = f"{model.embedder.name}, {judge}"
        if held_out:
            right = float(((on_nli >= least) == (labels_of(held_out) > 0)).mean())
            place = (hans.suite.name, hans.name, "", "NLI, held out")
            results.append(Result(name, *place, right, len(held_out)))
        if model.predictions and nli:
            file = "-".join(re.findall(r"[\w.]+", f"{hans.name} {name}"))
            text = hans_predictions(pairs, entailed, least)
            write_text(model.predictions / f"{file}.txt", text)

        def metrics(
            rows: np.ndarray, entailed: np.ndarray = entailed, least: float = least
        ) -> PartMetrics:
            by_name = hans_metrics(_kept(pairs, rows), entailed[rows], least)
            return {("", name): value for name, value in by_name.items()}

        results += _results(replace(model, seen=seen), hans, metrics, judge=f", {judge}")
    return results


def measure_geometry(model: Model, sts: LoadedSet) -> list[Result]:
    """Return alignment, uniformity and the rest, on the texts of an STS set."""
    pairs, embed = sts.scored(), model.embedder.embed
    # A bag of words has thousands of columns: no sphere of a size to compare.
    if embed is None or issparse(embed([pairs[0].texts[0]])):
        return []

    def metrics(rows: np.ndarray) -> PartMetrics:
        measures = pair_geometry(lambda texts: np.asarray(embed(texts)), _kept(pairs, rows))
        return _whole(rows, measures)

    results = _results(model, sts, metrics)
    # The majority class has nothing but zeros.
    return results if any(result.value is not None for result in results) else []


def _results(
    model: Model,
    measured: LoadedSet,
    metrics: Callable[[np.ndarray], PartMetrics],
    judge: str = "",
    subsets: np.ndarray | None = None,
    measures: Mapping[tuple[str, str], Weighted] | None = None,
) -> list[Result]:
    """Return metrics of all rows, each beside its value on the rows that the model had not seen.

    Args:
        model: what was measured.
        measured: on which set.
        metrics: which rows to measure, (N,) bool -> the metrics of these.
        judge: added to the model's name.
        subsets: (N,) each row's part, where a set has parts.
        measures: metrics that get an interval, as functions of the weights of all rows.
    """
    resampled = _resampled(measured.scored(), measures or {})
    seen = overlap(measured.scored(), model.seen).shared
    everything = metrics(np.ones(len(seen), bool))
    unseen = everything
    if seen.any():
        unseen = {} if seen.all() else metrics(~seen)
    results = []
    for (part, metric), (value, n) in everything.items():
        own = seen if subsets is None or part not in subsets else seen[subsets == part]
        results.append(
            Result(
                f"{model.embedder.name}{judge}",
                measured.suite.name,
                measured.name,
                part,
                metric,
                value,
                n,
                float(own.mean()),
                unseen.get((part, metric), (None, 0))[0],
                *(resampled.get((part, metric), ()) if value is not None else ()),
            )
        )
    return results


def _resampled(
    examples: Sequence[Example], measures: Mapping[tuple[str, str], Weighted]
) -> dict[tuple[str, str], tuple[float, float, np.ndarray]]:
    """Return low, high and the values of metrics in each resample of the rows."""
    if not measures:
        return {}
    drawn = [
        np.concatenate([measure(weights) for measure in measures.values()])
        for weights in weightings(clusters_of(examples))
    ]
    values = np.concatenate(drawn, axis=1)
    ends = np.quantile(values, TAILS, axis=1).T
    return {
        key: (float(low), float(high), own)
        for key, (low, high), own in zip(measures, ends, values, strict=True)
    }


def _whole(rows: np.ndarray, metrics: Mapping[str, float | None]) -> PartMetrics:
    """Return metrics of a set without parts as `_results` reads them."""
    return {("", metric): (value, int(rows.sum())) for metric, value in metrics.items()}


def _kept(pairs: Sequence[Any], rows: np.ndarray) -> list[Any]:
    return [pair for pair, kept in zip(pairs, rows, strict=True) if kept]


def _similarities(embedder: Embedder, pairs: Sequence[Any]) -> np.ndarray:
    return similarities(embedder, [p.text_a for p in pairs], [p.text_b for p in pairs])


def _features(embedder: Embedder, examples: Sequence[Any]) -> Vectors:
    """Return the vectors of sentences, or SentEval's features of pairs."""
    assert embedder.embed is not None
    if isinstance(examples[0], SentencePair):
        sides = (embedder.embed([pair.texts[side] for pair in examples]) for side in (0, 1))
        return pair_vectors(*sides)
    return embedder.embed([example.text for example in examples])


# --- what each suite reads

T = TypeVar("T")


def in_first(read: Callable[..., T], folders: Sequence[Path], *name: str) -> T:
    """Return what `read` finds in the first of the folders that holds it.

    Raises:
        MissingSet: none does; the error of the last folder.
    """
    for folder in folders[:-1]:
        with suppress(MissingSet):
            return read(folder, *name)
    return read(folders[-1], *name)


def _spread(pairs: list[SentencePair], most: int) -> list[SentencePair]:
    """Return at most so many, evenly spread: parts of a file may come from different sources."""
    rows = np.linspace(0, len(pairs) - 1, min(len(pairs), most)).astype(int)
    return [pairs[row] for row in rows]


def _read_pairs(folders: Sequence[Path], name: str) -> Splits:
    splits = in_first(read_pair_set, folders, name)
    return replace(splits, train=_spread(splits.train, MOST_PAIRS))


def _read_hans(folders: Sequence[Path], name: str) -> HansData:
    pairs = in_first(read_hans, folders, name)
    try:
        nli = in_first(read_nli, folders)
    except MissingSet:
        return HansData(pairs, [])
    # To HANS, neutral and contradiction are one class: not entailed. Half of its pairs are
    # entailed, a third of NLI's; thresholds and heads learn from as many of both.
    entailed = [replace(pair, label=1.0) for pair in nli if pair.label == 0]
    others = [replace(pair, label=0.0) for pair in nli if pair.label != 0]
    each = min(len(entailed), len(others), MOST_PAIRS // 2)
    if each < FEWEST_PAIRS:
        raise DataError(
            f"nli_pairs.tsv: {len(entailed)} of {len(nli)} pairs are entailed; to learn "
            f"entailment, expected {FEWEST_PAIRS} or more of both kinds"
        )
    balanced = zip(_spread(entailed, each), _spread(others, each), strict=True)
    return HansData(pairs, list(chain(*balanced)))


@dataclass(frozen=True)
class Suite:
    """One entry of the table.

    Attributes:
        name: as on the command line.
        sets: the names of its sets.
        read: (folders, set) -> what is measured on.
        measure: (model, loaded set) -> results.
        shown: its tables on the terminal.
    """

    name: str
    sets: tuple[str, ...]
    read: Callable[[Sequence[Path], str], Content]
    measure: Callable[[Model, LoadedSet], list[Result]]
    shown: tuple[Shown, ...]


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "sts",
            tuple(STS_SETS),
            partial(in_first, read_sts_set),
            measure_sts,
            (
                Shown(
                    "STS: Spearman x 100, all subsets of a set as one", "spearman", averaged=SEVEN
                ),
            ),
        ),
        Suite(
            "transfer",
            tuple(TRANSFER_SETS),
            partial(in_first, read_transfer_set),
            measure_transfer,
            (
                Shown("transfer: accuracy x 100", "accuracy", averaged=TRANSFER),
                Shown("transfer: F1 x 100 of the sets with two classes", "f1"),
            ),
        ),
        Suite(
            "pairs",
            tuple(PAIR_SETS),
            _read_pairs,
            measure_pairs,
            (
                Shown("pairs: average precision x 100", "average_precision"),
                Shown(
                    "pairs: accuracy x 100 at the best threshold of the scored split (MTEB's way)",
                    "accuracy_best",
                ),
                Shown(
                    "pairs: accuracy x 100 at the best threshold of training pairs",
                    "accuracy_train",
                ),
            ),
        ),
        Suite(
            "hans",
            tuple(HANS_SETS),
            _read_hans,
            measure_hans,
            tuple(
                Shown(f"{name}, {what}", set=name, subcases=subcases)
                for name in HANS_SETS
                for what, subcases in (
                    ("accuracy and area under the ROC curve, x 100", False),
                    ("accuracy x 100 by subcase", True),
                )
            ),
        ),
        Suite(
            "geometry",
            GEOMETRY_SETS,
            partial(in_first, read_sts_set),
            measure_geometry,
            tuple(Shown(f"geometry on {name}", set=name, scale=1.0) for name in GEOMETRY_SETS),
        ),
    )
}


def find_sets(
    suites: Sequence[str], sets: Sequence[str], folders: Sequence[Path]
) -> tuple[list[LoadedSet], dict[str, list[str]]]:
    """Return the sets that one of the folders holds, and by suite those that none does.

    Args:
        suites: names of SUITES.
        sets: names of sets to keep, all if empty.
        folders: searched in this order; the first that holds a set gives it.

    Returns:
        The sets, and suite -> "name (files that were looked for)".

    Raises:
        DataError: a broken file, or a set that none of the suites has.
    """
    known = {name for suite in suites for name in SUITES[suite].sets}
    for name in sets:
        if name not in known:
            raise DataError(f"--sets {name}: unknown; expected one of {', '.join(sorted(known))}")
    loaded: list[LoadedSet] = []
    missing: dict[str, list[str]] = {}
    for suite in (SUITES[name] for name in suites):
        for name in suite.sets:
            if sets and name not in sets:
                continue
            try:
                loaded.append(LoadedSet(suite, name, suite.read(folders, name)))
            except MissingSet as error:
                missing.setdefault(suite.name, []).append(f"{name} ({error.looked_for})")
    return loaded, missing
