"""Reads the Chinese translation of STS-Benchmark: `id||sentence||sentence||score`.

Source: the files cnsd-sts-{train,dev,test}.txt of the CNSD project, scores in whole numbers.
Reads: data.readers.tables. Feeds: data.suites.
"""

from data.examples import DataError, SentencePair
from data.readers.plain import plain_lines, score
from data.readers.tables import PathLike

SEPARATOR = "||"


def read_cnsd(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a file in order; labels are similarities from 0 to 5.

    Raises:
        DataError: a broken file, a row that is not four fields, or a label out of range.
    """
    pairs = []
    for line, text in plain_lines(path):
        fields = [field.strip() for field in text.split(SEPARATOR)]
        if len(fields) != 4:
            found = f"{path}:{line}: {len(fields)} field(s) separated by {SEPARATOR}"
            raise DataError(f"{found}, expected 4: id, two sentences, score; correct the row")
        row, first, second, value = fields
        pairs.append(SentencePair(row, first, second, score(f"{path}:{line}", value)))
    return pairs
