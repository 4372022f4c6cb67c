"""Read pairs of texts with binary labels from tables of any usual form."""

import logging
from collections.abc import Sequence
from pathlib import Path

from data.columns import LABEL, NO_LABEL, Column, pair_columns, says_yes
from data.examples import DataError, SentencePair
from data.pairs import label_value
from data.tables import counted, open_table

logger = logging.getLogger("data")

REMEDY = "name the columns: --columns FIRST SECOND LABEL"


def read_labelled(
    path: Path, named: Sequence[str] = (), at: float | None = None
) -> list[SentencePair]:
    """Return the pairs of a table, in order; labels are 0.0 and 1.0.

    Rows without a label are left out, with a warning.

    Args:
        path: as in `open_table`.
        named: the names or numbers of the columns, () to find them.
        at: labels are scores, and pairs of this score or more are positive.

    Raises:
        DataError: as `open_table`; a label that is neither yes nor no, no label at all, or a row
            without a text.
    """
    columns = (*pair_columns(), Column("label", LABEL, kind="label"))
    table = open_table(path, columns, named=named, remedy=REMEDY)
    pairs: list[SentencePair] = []
    unlabelled: list[int] = []  # line numbers
    for line, row in table.rows():
        first, second, label = (row[column.name].strip() for column in columns)
        if label.casefold() in NO_LABEL:
            unlabelled.append(line)
            continue
        if not first or not second:
            raise DataError(f"{path}:{line}: a text is empty; correct or delete the row")
        pairs.append(SentencePair(str(line), first, second, _label(f"{path}:{line}", label, at)))
    if unlabelled:
        count = counted(unlabelled, "without a label")
        if not pairs:
            raise DataError(f"{path}: {count}, and no others; fill the column, or {REMEDY}")
        logger.warning("%s: %s; left out", path, count)
    return pairs


def _label(where: str, label: str, at: float | None) -> float:
    value = label_value(label)
    if at is not None:
        if isinstance(value, str):
            raise DataError(
                f"{where}: label {label[:40]!r}, expected a score; correct the "
                "row, or leave out --at"
            )
        return float(value >= at)
    answer = says_yes(value if isinstance(value, str) else f"{value:g}")
    if answer is not None:
        return float(answer)
    is_word = isinstance(value, str)
    remedy = "correct the row" if is_word else "give --at SCORE if labels are scores"
    raise DataError(f"{where}: label {label[:40]!r}, expected 0 or 1, yes or no; {remedy}")
