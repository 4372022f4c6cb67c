"""Reads the texts of unsupervised SimCSE: one sentence per line.

Streams: a million lines cost no more memory than one.
Reads: data.readers.tables. Feeds: simcse.
"""

from collections.abc import Iterator

from data.examples import DataError
from data.readers.tables import PathLike, numbered_lines


def iter_sentences(path: PathLike) -> Iterator[str]:
    """Yield the sentences of a file with one per line, stripped; empty lines are skipped.

    Raises:
        DataError: on the first step, an unreadable file; later, a line that is not UTF-8; at
            the end, a file without a single sentence.
    """
    return filter(None, iter_documents(path))


def iter_documents(path: PathLike) -> Iterator[str]:
    """Yield the sentences as `iter_sentences` does, and "" for each empty line between documents.

    Raises:
        DataError: as there.
    """
    found = False
    for _, line in numbered_lines(path):
        sentence = line.strip()
        found = found or bool(sentence)
        yield sentence
    if not found:
        raise DataError(f"{path}: is empty; expected one sentence per line")
