"""Reads Microsoft's paraphrase corpus: label, two ids and two sentences, tab-separated.

Source: Dolan and Brockett 2005. Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import DataError, SentencePair
from data.readers.plain import choice, plain_fields
from data.readers.tables import PathLike

LABELS = ("0", "1")


def read_mrpc(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a file in order; label 1.0 marks paraphrases.

    The published files begin with a line of column names; copies without it are read alike.

    Raises:
        DataError: a broken file, a row of fewer than five fields, or a label other than 0 and 1.
    """
    pairs = []
    for line, fields in plain_fields(path, 5):
        if line == 1 and fields[0] == "Quality":
            continue
        quality, id_a, id_b, text_a, text_b, *_ = fields
        label = float(choice(f"{path}:{line}", quality, LABELS))
        pairs.append(SentencePair(f"{id_a}-{id_b}", text_a, text_b, label))
    if not pairs:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")
    return pairs
