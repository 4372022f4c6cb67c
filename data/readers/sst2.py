"""Reads SST in two classes, in both forms in which it is about.

`sentence<TAB>label` (SentEval's sentiment-train) and `label sentence` (Kim's stsa.binary.train).
Source: Socher et al. 2013. Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import DataError, Sentence
from data.readers.plain import plain_lines
from data.readers.tables import PathLike

LABELS = ("0", "1")


def read_sst2(path: PathLike) -> list[Sentence]:
    """Return the sentences of a file in order; label 1 is positive.

    Raises:
        DataError: a broken file, or a line without a label of 0 or 1 where it should be.
    """
    sentences = []
    for line, text in plain_lines(path):
        sentence, tab, label = text.rpartition("\t")
        if not tab:
            label, _, sentence = text.partition(" ")
        if label not in LABELS or not sentence.strip():
            raise DataError(
                f"{path}:{line}: {text[:40]!r}: expected 'sentence<TAB>label' or 'label sentence' "
                "with a label of 0 or 1; correct the row"
            )
        sentences.append(Sentence(str(line), sentence.strip(), int(label)))
    return sentences
