"""Files that something was trained on, whatever their format, for the leak audit.

Reads: data.readers. Feeds: evaluation.leaks, and the models of an evaluation.
"""

from collections.abc import Iterator
from pathlib import Path

from data.overlap import Seen
from data.readers.fields import number
from data.readers.sentences import iter_sentences
from data.readers.stsbenchmark import read_stsbenchmark
from data.readers.tables import read_header, read_table
from data.readers.triplets import iter_triplets

# The columns that hold texts, in the tab-separated files of CS224N and of NLI.
TEXT_COLUMNS = (("sentence1", "sentence2"), ("premise", "hypothesis"), ("sentence",))


def note_file(path: Path, seen: Seen) -> None:
    """Note the texts, and the pairs, of a training file in `seen`.

    A tab-separated table with known columns is one of CS224N's files or of NLI pairs; one without
    a header, of STS-Benchmark's; any other .csv file holds SimCSE's triplets; any other file, one
    sentence per line.

    Raises:
        DataError: unreadable, or broken.
    """
    columns = _text_columns(path)
    if columns:
        rows = read_table(path, columns, "\t", ragged=True)
        # A row that lacks a text was not trained on either.
        texts = (tuple(row[c] for c in columns) for _, row in rows)
        whole = [row for row in texts if all(row)]
        if len(columns) == 2:
            seen.add_pairs(whole)
        else:
            seen.add_texts(text for (text,) in whole)
    elif _is_stsbenchmark(path):
        seen.add_examples(read_stsbenchmark(path))
    elif path.suffix == ".csv":
        _note_triplets(path, seen)
    else:
        seen.add_texts(iter_sentences(path))


def _text_columns(path: Path) -> tuple[str, ...]:
    header = read_header(path, "\t")
    return next((columns for columns in TEXT_COLUMNS if set(columns) <= set(header)), ())


def _is_stsbenchmark(path: Path) -> bool:
    """Return whether a file without a header has STS-Benchmark's score in its fifth field."""
    fields = read_header(path, "\t")
    return len(fields) >= 7 and number(fields[4]) is not None


def _note_triplets(path: Path, seen: Seen) -> None:
    """Note all texts; as pairs, an anchor with each of the others."""

    def pairs() -> Iterator[tuple[str, str]]:
        for triplet in iter_triplets(path):
            for other in triplet.texts[1:]:
                yield triplet.anchor, other

    seen.add_pairs(pairs())
