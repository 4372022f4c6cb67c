"""Reads labelled pairs of premise and hypothesis, tab-separated under a header line.

Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import SentencePair
from data.readers.plain import choice, plain_table
from data.readers.tables import PathLike

LABELS = ("entailment", "neutral", "contradiction")  # in the order of their numbers
COLUMNS = ("premise", "hypothesis", "label", "source")


def read_nli_file(path: PathLike) -> list[SentencePair]:
    """Return the pairs in order: label 0.0 entailment, 1.0 neutral, 2.0 contradiction.

    The phenomenon is the column `source`: where the pair comes from.

    Raises:
        DataError: a broken table or another label.
    """
    return [
        SentencePair(
            str(line), premise, hypothesis, float(choice(f"{path}:{line}", label, LABELS)),
            phenomenon=source or None,
        )
        for line, (premise, hypothesis, label, source) in plain_table(path, COLUMNS)
    ]  # fmt: skip
