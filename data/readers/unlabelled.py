"""Reads pairs without labels: a task's own columns, or two tab-separated texts a line.

Reads: data.readers.tables, data.readers.plain. Feeds: experiment.
"""

from data.examples import DataError, SentencePair
from data.readers.plain import plain_fields
from data.readers.tables import PathLike, numbered_lines, read_table

COLUMNS = ("sentence1", "sentence2")


def read_unlabelled(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a file in order, without labels.

    A first line with the columns sentence1 and sentence2 makes it a table as CS224N's, whose other
    columns, labels too, are passed over; any other file has two tab-separated texts a line.

    Raises:
        DataError: the file is unreadable, empty or not UTF-8; a row lacks a text.
    """
    first = next((text for _, text in numbered_lines(path)), "")
    if set(COLUMNS) <= set(first.rstrip("\r\n").split("\t")):
        table = read_table(path, COLUMNS, "\t")
        rows = ((line, [row[name].strip() for name in COLUMNS]) for line, row in table)
    else:
        rows = ((line, fields[:2]) for line, fields in plain_fields(path, 2))
    pairs = []
    for line, texts in rows:
        if not all(texts):
            raise DataError(f"{path}:{line}: a pair lacks a text; correct or delete the row")
        pairs.append(SentencePair(f"line-{line}", *texts))
    return pairs
