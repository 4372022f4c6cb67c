"""Reads STS-Benchmark as published: genre, file, year, id, score and two sentences, no header.

Source: Cer et al. 2017. Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import SentencePair
from data.readers.plain import plain_fields, score
from data.readers.tables import PathLike


def read_stsbenchmark(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a file in order; labels are similarities from 0 to 5.

    Raises:
        DataError: a broken file, a row of fewer than seven fields, or a label out of range.
    """
    return [
        SentencePair(f"{file}-{line}", first, second, score(f"{path}:{line}", value))
        for line, (_, file, _, _, value, first, second, *_) in plain_fields(path, 7)
    ]
