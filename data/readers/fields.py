"""The fields that rows of CS224N's files have in common: ids, pairs, numbers, phenomena.

Reads: rows of data.readers.tables. Feeds: sst, quora, sts.
"""

import math
from typing import Any

from data.examples import SentencePair

Row = dict[str, Any]


def row_id(row: Row) -> str:
    """Return the id of a row, in lower case as in the course's code."""
    return str(row["id"]).strip().lower()


def phenomenon(row: Row) -> str | None:
    """Return what a row tests, None where the file does not say."""
    return row.get("phenomenon") or None


def sentence_pair(row: Row, label: float | None, official_row: int | None = None) -> SentencePair:
    """Return the pair in the columns sentence1 and sentence2."""
    text_a, text_b = row["sentence1"].strip(), row["sentence2"].strip()
    return SentencePair(row_id(row), text_a, text_b, label, official_row, phenomenon(row))


def number(text: str | None) -> float | None:
    """Return the finite number that a field spells, or None."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None
