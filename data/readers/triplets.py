"""Reads the texts of supervised SimCSE: rows of anchor, positive and hard negative.

Streams: a million rows cost no more memory than one.
Reads: data.readers.tables. Feeds: simcse.
"""

from collections.abc import Iterator

from data.examples import DataError, Triplet
from data.readers.tables import PathLike, read_table


def iter_triplets(path: PathLike) -> Iterator[Triplet]:
    """Yield the triplets of a comma-separated file with a header line.

    Columns are read by position, as their names differ between published files
    (`sent0,sent1,hard_neg`, `anchor,entailment,contradiction`): anchor, positive and, if there is
    a third, hard negative.

    Raises:
        DataError: the table is broken, has neither 2 nor 3 columns, or a row has an empty field.
    """
    for line, row in read_table(path, (), ","):
        if len(row) not in (2, 3):
            raise DataError(
                f"{path}:1: {len(row)} comma-separated column(s), expected 2 or 3: "
                "anchor, positive and optionally hard negative; correct the header"
            )
        texts = [text.strip() for text in row.values()]
        if not all(texts):
            empty = list(row)[texts.index("")]
            raise DataError(
                f"{path}:{line}: column {empty!r} is empty, expected a sentence; "
                "fill it or delete the row"
            )
        yield Triplet(*texts)
