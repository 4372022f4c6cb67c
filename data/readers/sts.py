"""Reads pairs with a similarity from 0 to 5: STS, CS224N's reshuffle of STS-Benchmark.

Reads: data.readers.tables. Feeds: data.tasks, data.selection.
"""

from collections.abc import Sequence

from data.examples import DataError, SentencePair
from data.readers.fields import number, sentence_pair
from data.readers.tables import PathLike, read_table

# Rows of STS-Benchmark counted through its train, dev and test files, in that order.
OFFICIAL_DEV_ROWS = range(5749, 7249)

MAX_SIMILARITY = 5.0


def read_sts(path: PathLike, labelled: bool = True) -> list[SentencePair]:
    """Return the pairs of an STS file in order; labels are similarities from 0 to 5.

    The file is a reshuffle of STS-Benchmark whose unnamed first column keeps the official row
    (0-5748 train, 5749-7248 dev, 7249-8627 test). It becomes the pair's `row`.

    Raises:
        DataError: the table is broken, or a label is not a number from 0 to 5.
    """
    pairs = []
    columns = ["id", "sentence1", "sentence2", *(["similarity"] if labelled else [])]
    for line, row in read_table(path, columns, "\t"):
        where = f"{path}:{line}"
        label = _similarity(where, row["similarity"]) if labelled else None
        pairs.append(sentence_pair(where, row, label, _official_row(row.get(""))))
    return pairs


def official_dev(pairs: Sequence[SentencePair]) -> list[SentencePair]:
    """Return the pairs that belong to the official STS-Benchmark dev set.

    SimCSE checkpoints are selected on the official-dev rows inside CS224N's *train* file, so that
    selection never peeks at pairs that are scored later.

    A first column that only counts the rows of this file, as pandas writes it, does not hold
    official rows.
    """
    if [pair.row for pair in pairs] == list(range(len(pairs))):
        return []
    return [pair for pair in pairs if pair.row in OFFICIAL_DEV_ROWS]


def _similarity(where: str, text: str) -> float:
    label = number(text)
    if label is None or not 0 <= label <= MAX_SIMILARITY:
        raise DataError(
            f"{where}: similarity is {text[:40]!r}, expected a number from 0 to 5; correct the row"
        )
    return label


def _official_row(text: str | None) -> int | None:
    row = number(text)
    return int(row) if row is not None and row.is_integer() else None
