"""Reads the evaluation sets that consist of several files.

Reads: data.readers, data.finding, data.tasks. Feeds: data.suites.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from data.examples import SentencePair
from data.finding import missing_set
from data.readers.mrpc import read_mrpc
from data.readers.polarity import read_polarity
from data.readers.semeval import read_subset
from data.readers.sst2 import read_sst2
from data.readers.tables import stored
from data.readers.trec import read_trec
from data.tasks import TASKS, Splits


def read_year(
    folders: list[Path], name: str, subsets: Sequence[str], command: str
) -> dict[str, list[SentencePair]]:
    """Return the subsets of one year of SemEval's STS, from its folder.

    Raises:
        MissingSet: one of the subsets is not there; without it the score would be another.
        DataError: a broken file.
    """
    folder = folders[0]
    files = [f"STS.{kind}.{subset}.txt" for subset in subsets for kind in ("input", "gs")]
    missing = [file for file in files if not stored(folder / file).is_file()]
    if missing:
        raise missing_set(folder, name, missing, command)
    return {subset: read_subset(folder, subset) for subset in subsets}


def read_folds(paths: list[Path]) -> Splits:
    """Return all rows of two files of opposite classes as training rows, to be cut into folds."""
    return Splits(read_polarity(*paths), [], [])


def read_sst2_splits(paths: list[Path]) -> Splits:
    """Return SST in two classes from its three files."""
    train, dev, test = map(read_sst2, paths)
    return Splits(train, dev, test)


def read_trec_splits(paths: list[Path]) -> Splits:
    """Return questions by type from two files; there is no dev part."""
    train, test = map(read_trec, paths)
    return Splits(train, [], test)


def read_mrpc_splits(paths: list[Path]) -> Splits:
    """Return paraphrases from two files, labels 1.0 and 0.0; there is no dev part."""
    train, test = map(read_mrpc, paths)
    return Splits(train, [], test)


def read_mrpc_classes(paths: list[Path]) -> Splits:
    """Return the same with the whole numbers 1 and 0 as labels, as classifiers take them."""
    splits = read_mrpc_splits(paths)
    return Splits(_whole(splits.train), [], _whole(splits.test))


def _whole(pairs: list[SentencePair]) -> list[SentencePair]:
    return [replace(pair, label=int(pair.label or 0)) for pair in pairs]


def read_quora_splits(paths: list[Path]) -> Splits:
    """Return CS224N's train and dev file of Quora as train and test: its test has no labels."""
    train, dev = map(TASKS["para"].read, paths)
    return Splits(train, [], dev)
