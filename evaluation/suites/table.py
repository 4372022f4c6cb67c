"""The suites: the sets of each, its metrics, and its tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from data.examples import DataError
from data.locate import MissingSet
from data.suites import HANS_SETS, PAIR_SETS, STS_SETS, TRANSFER_SETS
from evaluation.suites import geometry, hans, pairs, sts, transfer
from evaluation.suites.measured import LoadedSet, Model
from evaluation.suites.results import Result, Shown

# The papers' averages are over these.
SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")


@dataclass(frozen=True)
class Suite:
    """One entry of the table."""

    sets: tuple[str, ...]
    read: Callable[[Sequence[Path], str], LoadedSet]  # folders, the name of a set
    measure: Callable[[Model, LoadedSet], list[Result]]
    shown: tuple[Shown, ...]  # its tables on the terminal


SUITES = {
    "sts": Suite(
        tuple(STS_SETS),
        sts.read,
        sts.measure,
        (Shown("STS: Spearman x 100, all subsets of a set as one", "spearman", averaged=SEVEN),),
    ),
    "transfer": Suite(
        tuple(TRANSFER_SETS),
        transfer.read,
        transfer.measure,
        (
            Shown("transfer: accuracy x 100", "accuracy", averaged=TRANSFER),
            Shown("transfer: F1 x 100 of the sets with two classes", "f1"),
        ),
    ),
    "pairs": Suite(
        tuple(PAIR_SETS),
        pairs.read,
        pairs.measure,
        (
            Shown("pairs: average precision x 100", "average_precision"),
            Shown(
                "pairs: accuracy x 100 at the best threshold of the scored split (MTEB's way)",
                "accuracy_best",
            ),
            Shown(
                "pairs: accuracy x 100 at the best threshold of training pairs", "accuracy_train"
            ),
        ),
    ),
    "hans": Suite(
        tuple(HANS_SETS),
        hans.read,
        hans.measure,
        tuple(
            Shown(f"{name}, {title}", set=name, subcases=subcases)
            for name in HANS_SETS
            for title, subcases in (
                ("accuracy and area under the ROC curve, x 100", False),
                ("accuracy x 100 by subcase", True),
            )
        ),
    ),
    "geometry": Suite(
        geometry.SETS,
        geometry.read,
        geometry.measure,
        tuple(Shown(f"geometry on {name}", set=name, scale=1.0) for name in geometry.SETS),
    ),
}


def find_sets(
    suites: Sequence[str], sets: Sequence[str], folders: Sequence[Path]
) -> tuple[list[LoadedSet], dict[str, list[str]]]:
    """Return the sets in the folders, and the missing sets.

    Args:
        suites: names of SUITES.
        sets: names of the sets to keep, all if empty.
        folders: searched in this order; a set is taken from the first folder that has it.

    Returns:
        The sets, and suite -> "name (files that were looked for)".

    Raises:
        DataError: a broken file, or a set that is in none of the suites.
    """
    known = {name for suite in suites for name in SUITES[suite].sets}
    for name in sets:
        if name not in known:
            raise DataError(f"--sets {name}: unknown; expected one of {', '.join(sorted(known))}")
    loaded: list[LoadedSet] = []
    missing: dict[str, list[str]] = {}
    for suite in suites:
        for name in SUITES[suite].sets:
            if sets and name not in sets:
                continue
            try:
                loaded.append(SUITES[suite].read(folders, name))
            except MissingSet as error:
                missing.setdefault(suite, []).append(f"{name} ({error.looked_for})")
    return loaded, missing


def measure(model: Model, loaded: LoadedSet) -> list[Result]:
    """Return the results of a model, fitted to the set's texts if possible."""
    if model.embedder.adapt is not None:
        model = replace(model, embedder=model.embedder.adapt(loaded.texts()))
    return SUITES[loaded.suite].measure(model, loaded)
