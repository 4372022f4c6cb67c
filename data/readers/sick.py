"""Reads SICK: id, two sentences, relatedness from 1 to 5, entailment judgment.

Source: Marelli et al. 2014. Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import DataError, SentencePair
from data.readers.plain import plain_fields, score
from data.readers.tables import PathLike


def read_sick(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a SICK file in order; labels are the relatedness.

    The published files begin with a line of column names; copies without it are read alike.

    Raises:
        DataError: a broken file, a row of fewer than five fields, or a label out of range.
    """
    pairs = [
        SentencePair(fields[0], fields[1], fields[2], score(f"{path}:{line}", fields[3]))
        for line, fields in plain_fields(path, 5)
        if line > 1 or fields[0] != "pair_ID"
    ]
    if not pairs:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")
    return pairs
