"""Reads the texts SimCSE trains on: one sentence a line, or (anchor, positive, hard negative) rows.

Both readers stream: a million lines cost no more memory than one.
Reads: data.tables. Feeds: simcse.
"""

from collections.abc import Iterator

from data.examples import DataError, Triplet
from data.tables import PathLike, numbered_lines, read_table


def iter_sentences(path: PathLike) -> Iterator[str]:
    """Yields the sentences of a file with one a line, stripped; empty lines are passed over.

    Raises:
        DataError: on the first step, an unreadable file; later, a line that is not UTF-8; at
            the end, a file without a single sentence.
    """
    found = False
    for _, line in numbered_lines(path):
        if sentence := line.strip():
            found = True
            yield sentence
    if not found:
        raise DataError(f"{path}: is empty; expected one sentence per line")


def iter_triplets(path: PathLike) -> Iterator[Triplet]:
    """Yields the triplets of a comma-separated file with a header line.

    Columns go by position, as their names differ between published files (`sent0,sent1,hard_neg`,
    `anchor,entailment,contradiction`): anchor, positive and, if there is a third, hard negative.

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
