"""Reads sentiment: SST in five classes, CFIMDB in two.

Reads: data.readers.tables. Feeds: data.tasks.
"""

from data.examples import DataError, Sentence
from data.readers.fields import number, phenomenon, row_id
from data.readers.tables import PathLike, read_table


def read_sst(path: PathLike, labelled: bool = True, num_classes: int = 5) -> list[Sentence]:
    """Return the sentences of an SST file, or with num_classes=2 of a CFIMDB file, in order.

    Raises:
        DataError: the table is broken, or a label is not an integer from 0 to num_classes - 1.
    """
    sentences = []
    columns = ["id", "sentence", *(["sentiment"] if labelled else [])]
    for line, row in read_table(path, columns, "\t"):
        where = f"{path}:{line}"
        label = _class_label(where, row["sentiment"], num_classes) if labelled else None
        text = row["sentence"].strip()
        sentences.append(Sentence(row_id(where, row), text, label, phenomenon(row)))
    return sentences


def _class_label(where: str, text: str, num_classes: int) -> int:
    label = number(text)
    if label is None or label not in range(num_classes):
        raise DataError(
            f"{where}: sentiment is {text[:40]!r}, expected an integer from 0 to "
            f"{num_classes - 1}; correct the row"
        )
    return int(label)
