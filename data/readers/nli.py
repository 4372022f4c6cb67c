"""Reads labelled NLI pairs: does a premise entail a hypothesis, contradict it, or neither?

Streams: half a million pairs cost no more memory than one.
Reads: data.readers.tables. Feeds: baselines.
"""

from collections.abc import Iterator

from data.examples import DataError, SentencePair
from data.readers.tables import PathLike, numbered_lines

# In the order of SBERT's classes.
LABELS = {"entailment": 0.0, "neutral": 1.0, "contradiction": 2.0}
COLUMNS = ("premise", "hypothesis", "label")


def iter_nli(path: PathLike) -> Iterator[SentencePair]:
    """Yield the pairs of a tab-separated file; labels are 0.0, 1.0, 2.0 in the order of LABELS.

    Other columns are allowed. Quotes have no meaning, since sentences begin and end with them.
    Pairs without a label on which annotators agreed (`-` in SNLI) are left out.

    Raises:
        DataError: an unreadable or empty file, a missing column, too few fields, an empty text,
            an unknown label.
    """
    places: dict[str, int] = {}
    found = False
    for number, line in numbered_lines(path):
        fields = line.rstrip("\r\n").split("\t")
        if not places:
            places = _places(path, fields)
            continue
        where = f"{path}:{number}"
        if len(fields) <= max(places.values()):
            raise DataError(
                f"{where}: {len(fields)} tab-separated fields, expected "
                f"{max(places.values()) + 1} or more; correct or delete the row"
            )
        premise, hypothesis, label = (fields[places[name]].strip() for name in COLUMNS)
        if label == "-":
            continue
        if label not in LABELS:
            raise DataError(
                f"{where}: label is {label[:40]!r}, expected {', '.join(LABELS)}; correct the row"
            )
        if not premise or not hypothesis:
            raise DataError(f"{where}: a sentence is empty; fill it or delete the row")
        found = True
        yield SentencePair(str(number), premise, hypothesis, LABELS[label])
    if not found:
        raise DataError(f"{path}: holds no labelled pair; expected a header line and rows")


def _places(path: PathLike, header: list[str]) -> dict[str, int]:
    """Return where the columns are."""
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise DataError(
            f"{path}:1: no column {missing[0]!r}; expected tab-separated {', '.join(COLUMNS)}; "
            "correct the header"
        )
    return {name: header.index(name) for name in COLUMNS}
