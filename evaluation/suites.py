"""The suites as a table: which sets each one reads, and what it measures on them.

Reads: data.suites, measures. Feeds: the command line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from data.examples import DataError, Example, SentencePair
from data.locate import MissingSet
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
from data.tasks import Splits
from evaluation.measures import (
    HansData,
    Model,
    measure_geometry,
    measure_hans,
    measure_pairs,
    measure_sts,
    measure_transfer,
)
from evaluation.results import Result, Shown

# The papers' averages are over these.
SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
# Training pairs for a threshold or a small head: more would take long to encode and change little.
MOST_PAIRS, FEWEST_PAIRS = 20_000, 10
# SimCSE draws its alignment and uniformity on STS-B's dev set (figure 2).
GEOMETRY_SETS = ("STSBenchmark-dev", "synthetic-sts")


@dataclass(frozen=True)
class Suite:
    """One entry of the table.

    Attributes:
        name: as on the command line.
        sets: the names of its sets.
        read: (folders, set) -> what is measured on.
        examples: that -> all its examples, to be encoded.
        scored: that -> the examples that are scored.
        measure: (model, set, that) -> results.
        shown: its tables on the terminal.
    """

    name: str
    sets: tuple[str, ...]
    read: Callable[[Sequence[Path], str], Any]
    examples: Callable[[Any], Iterable[Example]]
    scored: Callable[[Any], Iterable[Example]]
    measure: Callable[[Model, str, Any], list[Result]]
    shown: tuple[Shown, ...]


@dataclass(frozen=True)
class Material:
    """A set that was found, as one suite reads it."""

    suite: Suite
    set: str
    content: Any

    def texts(self) -> Iterator[str]:
        """Yield all its texts."""
        return (text for example in self.suite.examples(self.content) for text in example.texts)

    def measure(self, model: Model) -> list[Result]:
        """Return the results of a model, fitted to the set's texts where it can be."""
        if model.embedder.adapt is not None:
            model = replace(model, embedder=model.embedder.adapt(list(dict.fromkeys(self.texts()))))
        return self.suite.measure(model, self.set, self.content)


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


def _read_hans_data(folders: Sequence[Path], name: str) -> HansData:
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


def _of_subsets(subsets: dict[str, list[SentencePair]]) -> Iterable[Example]:
    return chain(*subsets.values())


def _of_splits(splits: Splits) -> Iterable[Example]:
    return chain(splits.train, splits.dev, splits.test)


def _scored_split(splits: Splits) -> Iterable[Example]:
    return splits.test or splits.train  # without a split, every row is scored in its fold


def _hans_pairs(data: HansData) -> Iterable[Example]:
    return data.pairs


def _of_hans(data: HansData) -> Iterable[Example]:
    return chain(data.pairs, data.train)


def _spearman(result: Result) -> str | None:
    return result.set if (result.metric, result.part) == ("spearman", "all") else None


def _set_if(metric: str) -> Callable[[Result], str | None]:
    return lambda result: result.set if result.metric == metric else None


def _heuristic_of(name: str) -> Callable[[Result], str | None]:
    def column(result: Result) -> str | None:
        shown = result.set == name and not result.metric.startswith("subcase")
        return result.metric if shown else None

    return column


def _metric_of(name: str) -> Callable[[Result], str | None]:
    return lambda result: result.metric if result.set == name else None


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "sts",
            tuple(STS_SETS),
            partial(in_first, read_sts_set),
            _of_subsets,
            _of_subsets,
            measure_sts,
            (Shown("STS: Spearman x 100, all subsets of a set as one", _spearman, averaged=SEVEN),),
        ),
        Suite(
            "transfer",
            tuple(TRANSFER_SETS),
            partial(in_first, read_transfer_set),
            _of_splits,
            _scored_split,
            measure_transfer,
            (
                Shown("transfer: accuracy x 100", _set_if("accuracy"), averaged=TRANSFER),
                Shown("transfer: F1 x 100 of the sets with two classes", _set_if("f1")),
            ),
        ),
        Suite(
            "pairs",
            tuple(PAIR_SETS),
            _read_pairs,
            _of_splits,
            _scored_split,
            measure_pairs,
            (
                Shown("pairs: average precision x 100", _set_if("average_precision")),
                Shown(
                    "pairs: accuracy x 100 at the best threshold of the scored split (MTEB's way)",
                    _set_if("accuracy_best"),
                ),
                Shown(
                    "pairs: accuracy x 100 at the best threshold of training pairs",
                    _set_if("accuracy_train"),
                ),
            ),
        ),
        Suite(
            "hans",
            tuple(HANS_SETS),
            _read_hans_data,
            _of_hans,
            _hans_pairs,
            measure_hans,
            tuple(
                Shown(f"{name}: accuracy x 100, and area under the ROC curve", _heuristic_of(name))
                for name in HANS_SETS
            ),
        ),
        Suite(
            "geometry",
            GEOMETRY_SETS,
            partial(in_first, read_sts_set),
            _of_subsets,
            _of_subsets,
            measure_geometry,
            tuple(
                Shown(f"geometry on {name}", _metric_of(name), scale=1.0) for name in GEOMETRY_SETS
            ),
        ),
    )
}


@dataclass(frozen=True)
class Missing:
    """A set that no folder holds, and the files that were looked for."""

    suite: str
    set: str
    looked_for: str


def find_sets(
    suites: Sequence[str], sets: Sequence[str], folders: Sequence[Path]
) -> tuple[list[Material], list[Missing]]:
    """Return the sets that one of the folders holds, and those that none does.

    Args:
        suites: names of SUITES.
        sets: names of sets to keep, all if empty.
        folders: searched in this order; the first that holds a set gives it.

    Raises:
        DataError: a broken file, or a set that none of the suites has.
    """
    known = {name for suite in suites for name in SUITES[suite].sets}
    for name in sets:
        if name not in known:
            raise DataError(f"--sets {name}: unknown; expected one of {', '.join(sorted(known))}")
    found: list[Material] = []
    missing: list[Missing] = []
    for suite in (SUITES[name] for name in suites):
        for name in suite.sets:
            if sets and name not in sets:
                continue
            try:
                found.append(Material(suite, name, suite.read(folders, name)))
            except MissingSet as error:
                missing.append(Missing(suite.name, name, error.looked_for))
    return found, missing
