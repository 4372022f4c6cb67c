"""Reads Quora question pairs, duplicates or not.

Reads: data.readers.tables. Feeds: data.tasks.
"""

import logging

from data.examples import DataError, SentencePair
from data.readers.fields import number, sentence_pair
from data.readers.tables import PathLike, read_table

logger = logging.getLogger("data")


def read_quora(path: PathLike, labelled: bool = True) -> list[SentencePair]:
    """Return the question pairs of a Quora file in order; label 1.0 marks duplicates.

    The course's code silently skips rows that do not parse (a missing field, an empty or
    non-numeric label). The same rows are dropped here, for equal scores, but with a warning.

    Raises:
        DataError: the table is broken, a label is a number other than 0 or 1, or no row is left.
    """
    columns = ["id", "sentence1", "sentence2", *(["is_duplicate"] if labelled else [])]
    pairs: list[SentencePair] = []
    dropped: list[int] = []  # line numbers
    for line, row in read_table(path, columns, "\t", ragged=True):
        label = number(row["is_duplicate"]) if labelled else None
        if any(row[column] is None for column in columns) or (labelled and label is None):
            dropped.append(line)
        elif label in (None, 0.0, 1.0):
            pairs.append(sentence_pair(f"{path}:{line}", row, label))
        else:
            found = f"{path}:{line}: is_duplicate is {label:g}"
            raise DataError(f"{found}, expected 0 or 1; correct the row")
    _report_dropped(path, dropped, kept=len(pairs))
    return pairs


def _report_dropped(path: PathLike, dropped: list[int], kept: int) -> None:
    if not dropped:
        return
    found = f"{len(dropped)} of {kept + len(dropped)} rows do not parse (first: line {dropped[0]})"
    if not kept:
        raise DataError(f"{path}:{dropped[0]}: {found}; expected id, two sentences, 0 or 1")
    logger.warning("%s: %s; dropped, as CS224N's own reader does", path, found)
