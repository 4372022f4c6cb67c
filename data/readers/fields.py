"""The fields that rows of CS224N's files have in common: ids, pairs, numbers, phenomena.

Reads: rows of data.readers.tables. Feeds: sst, quora, sts.
"""

import math
from typing import Any

from data.examples import DataError, SentencePair

Row = dict[str, Any]


def row_id(where: str, row: Row) -> str:
    """Return the id of a row, in lower case as in the course's code.

    Raises:
        DataError: it holds what separates ids, predictions and rows in a file of predictions.
    """
    found = str(row["id"]).strip().lower()
    if "," in found or "\t" in found or len(found.splitlines()) > 1:
        raise DataError(
            f"{where}: id {found[:40]!r} holds a comma, a tab or a line end, which would separate "
            "predictions; change it"
        )
    return found


def phenomenon(row: Row) -> str | None:
    """Return what a row tests, None where the file does not say."""
    return row.get("phenomenon") or None


def sentence_pair(
    where: str, row: Row, label: float | None, official_row: int | None = None
) -> SentencePair:
    """Return the pair in the columns sentence1 and sentence2; `where` is for messages."""
    text_a, text_b = row["sentence1"].strip(), row["sentence2"].strip()
    return SentencePair(row_id(where, row), text_a, text_b, label, official_row, phenomenon(row))


def number(text: str | None) -> float | None:
    """Return the finite number that a field spells, or None."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None
