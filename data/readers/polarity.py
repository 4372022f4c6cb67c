"""Reads sets of two classes in two files, a sentence a line: MR, CR, SUBJ and MPQA.

Sources: Pang and Lee 2005 and 2004, Hu and Liu 2004, Wiebe et al. 2005; SentEval has them so.
Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import Sentence
from data.readers.plain import plain_lines
from data.readers.tables import PathLike


def read_polarity(positive: PathLike, negative: PathLike) -> list[Sentence]:
    """Return the sentences of both files, the positive ones (label 1) first.

    Blank lines are skipped: CR has four.

    Raises:
        DataError: a file is unreadable or empty.
    """
    return [
        Sentence(f"{name}-{line}", text, label)
        for name, label, path in (("pos", 1, positive), ("neg", 0, negative))
        for line, text in plain_lines(path)
    ]
