"""Reads the files of the CS224N default project: SST and CFIMDB, Quora, STS.

They are tab-separated although named .csv, and quoted by csv's default rules: the course's own
starter code reads them with `csv.DictReader(file, delimiter="\\t")`, so this does the same.
Reads: data.tables. Feeds: simcse (dev scores), heads, evaluation.
"""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.examples import DataError, Sentence, SentencePair
from data.tables import PathLike, read_header, read_table

logger = logging.getLogger("data")

TASK_FILES: dict[str, tuple[str, str, str]] = {  # task: train, dev, test
    "sst": ("ids-sst-train.csv", "ids-sst-dev.csv", "ids-sst-test-student.csv"),
    "para": ("quora-train.csv", "quora-dev.csv", "quora-test-student.csv"),
    "sts": ("sts-train.csv", "sts-dev.csv", "sts-test-student.csv"),
}
LABEL_COLUMNS = {"sst": "sentiment", "para": "is_duplicate", "sts": "similarity"}

# Rows of STS-Benchmark counted through its train, dev and test files, in that order.
OFFICIAL_DEV_ROWS = range(5749, 7249)

MAX_SIMILARITY = 5.0


@dataclass(frozen=True, slots=True)
class Splits:
    """The three parts of a task: lists of Sentence (sst) or of SentencePair (para, sts)."""

    train: list[Any]
    dev: list[Any]
    test: list[Any]


def read_sst(path: PathLike, labelled: bool = True, num_classes: int = 5) -> list[Sentence]:
    """Returns the sentences of an SST file, or with num_classes=2 of a CFIMDB file, in order.

    Raises:
        DataError: the table is broken, or a label is not an integer from 0 to num_classes - 1.
    """
    sentences = []
    for line, row in read_table(path, _columns(["id", "sentence"], "sst", labelled), "\t"):
        label = _class_label(f"{path}:{line}", row["sentiment"], num_classes) if labelled else None
        sentences.append(Sentence(_id(row), row["sentence"].strip(), label, _phenomenon(row)))
    return sentences


def read_quora(path: PathLike, labelled: bool = True) -> list[SentencePair]:
    """Returns the question pairs of a Quora file in order; label 1.0 marks duplicates.

    The course's code passes over rows that do not parse (a missing field, an empty or non-numeric
    label) without a word. The same rows are dropped here, for equal scores, but with a warning.

    Raises:
        DataError: the table is broken, a label is a number other than 0 or 1, or no row is left.
    """
    columns = _columns(["id", "sentence1", "sentence2"], "para", labelled)
    pairs: list[SentencePair] = []
    dropped: list[int] = []  # line numbers
    for line, row in read_table(path, columns, "\t", ragged=True):
        number = _number(row["is_duplicate"]) if labelled else None
        if any(row[column] is None for column in columns) or (labelled and number is None):
            dropped.append(line)
        elif number in (None, 0.0, 1.0):
            pairs.append(_pair(row, number))
        else:
            found = f"{path}:{line}: is_duplicate is {number:g}"
            raise DataError(f"{found}, expected 0 or 1; correct the row")
    _report_dropped(path, dropped, kept=len(pairs))
    return pairs


def read_sts(path: PathLike, labelled: bool = True) -> list[SentencePair]:
    """Returns the pairs of an STS file in order; labels are similarities from 0 to 5.

    The file is a reshuffle of STS-Benchmark whose unnamed first column keeps the official row
    (0-5748 train, 5749-7248 dev, 7249-8627 test). It becomes the pair's `row`.

    Raises:
        DataError: the table is broken, or a label is not a number from 0 to 5.
    """
    pairs = []
    columns = _columns(["id", "sentence1", "sentence2"], "sts", labelled)
    for line, row in read_table(path, columns, "\t"):
        label = _similarity(f"{path}:{line}", row["similarity"]) if labelled else None
        pairs.append(_pair(row, label, _official_row(row.get(""))))
    return pairs


def official_dev(pairs: Sequence[SentencePair]) -> list[SentencePair]:
    """Returns the pairs that belong to the official STS-Benchmark dev set.

    SimCSE checkpoints are selected on the official-dev rows inside CS224N's *train* file, so that
    selection never peeks at pairs that are scored later.

    A first column that merely counts the rows of this file, as pandas writes one, is not of
    official rows.
    """
    if [pair.row for pair in pairs] == list(range(len(pairs))):
        return []
    return [pair for pair in pairs if pair.row in OFFICIAL_DEV_ROWS]


def read_task(folder: PathLike, task: str) -> Splits:
    """Returns train, dev and test of 'sst', 'para' or 'sts' from a folder of CS224N files.

    The test part is [] when its file is absent; its labels are read when it has their column.
    A file named `-test.csv` stands in for an absent `-test-student.csv`.

    Raises:
        DataError: an unknown task, a missing folder, a missing train or dev file, a broken file.
    """
    if task not in TASK_FILES:
        raise DataError(f"task {task!r} is unknown; choose one of {', '.join(TASK_FILES)}")
    train, dev, test = (Path(folder) / name for name in TASK_FILES[task])
    _check_present(Path(folder), [train, dev])
    if not test.exists():
        test = test.with_name(test.name.replace("-test-student", "-test"))
    read = READERS[task]
    return Splits(read(train), read(dev), _read_test(test, task) if test.exists() else [])


def _read_test(path: Path, task: str) -> list[Any]:
    return READERS[task](path, labelled=LABEL_COLUMNS[task] in read_header(path, "\t"))


def _check_present(folder: Path, files: list[Path]) -> None:
    missing = " and ".join(file.name for file in files if not file.exists())
    if missing:
        problem = "not found" if folder.is_dir() else "there is no such folder"
        raise DataError(
            f"looked for {missing} in {folder}: {problem}; "
            f"fetch with: python -m data.download cs224n --out {folder}"
        )


def _columns(texts: list[str], task: str, labelled: bool) -> list[str]:
    return [*texts, LABEL_COLUMNS[task]] if labelled else texts


def _id(row: dict[str, Any]) -> str:
    return str(row["id"]).strip().lower()


def _pair(
    row: dict[str, Any], label: float | None, official_row: int | None = None
) -> SentencePair:
    text_a, text_b = row["sentence1"].strip(), row["sentence2"].strip()
    return SentencePair(_id(row), text_a, text_b, label, official_row, _phenomenon(row))


def _phenomenon(row: dict[str, Any]) -> str | None:
    return row.get("phenomenon") or None


def _number(text: str | None) -> float | None:
    """Returns the finite number a field spells, or None."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _class_label(where: str, text: str, num_classes: int) -> int:
    number = _number(text)
    if number is None or number not in range(num_classes):
        raise DataError(
            f"{where}: sentiment is {text[:40]!r}, expected an integer from 0 to "
            f"{num_classes - 1}; correct the row"
        )
    return int(number)


def _similarity(where: str, text: str) -> float:
    number = _number(text)
    if number is None or not 0 <= number <= MAX_SIMILARITY:
        raise DataError(
            f"{where}: similarity is {text[:40]!r}, expected a number from 0 to 5; correct the row"
        )
    return number


def _official_row(text: str | None) -> int | None:
    number = _number(text)
    return int(number) if number is not None and number.is_integer() else None


def _report_dropped(path: PathLike, dropped: list[int], kept: int) -> None:
    if not dropped:
        return
    found = f"{len(dropped)} of {kept + len(dropped)} rows do not parse (first: line {dropped[0]})"
    if not kept:
        raise DataError(f"{path}:{dropped[0]}: {found}; expected id, two sentences, 0 or 1")
    logger.warning("%s: %s; dropped, as CS224N's own reader does", path, found)


READERS: dict[str, Callable[..., list[Any]]] = {
    "sst": read_sst,
    "para": read_quora,
    "sts": read_sts,
}
