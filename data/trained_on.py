"""Read training files in any format, for the leak audit."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.overlap import DIGESTS, Seen
from data.published import TYPES, read_cnsd, read_mrpc, read_sick, read_stsbenchmark, read_trec
from data.sentences import iter_sentences
from data.table import Table, number, open_table, open_texts, plain_fields, plain_name
from data.triplets import COLUMNS


def note_file(path: Path, seen: Seen) -> None:
    """Add the texts and pairs of a training file to `seen`.

    Published sets without a header are recognised by their first line: STS-Benchmark, its Chinese
    translation, SICK, MRPC, TREC. A file of digests is recognised by its name. Any other file is a
    table of pairs, triplets or texts with usual column names, or, unless it is named .csv or .tsv,
    has a text per line.
    """
    if path.name.endswith(DIGESTS):
        seen.add_digests(path)
        return
    _, fields = next(plain_fields(path, 1))
    for fits, read in FORMATS:
        if fits(fields):
            seen.add_examples(list(read(path)))
            return
    try:
        table = open_table(path, COLUMNS)
    except DataError:
        if plain_name(path).endswith((".csv", ".tsv")) and not open_texts(path).header:
            raise  # lines of a table are no texts
        seen.add_texts(iter_sentences(path))
    else:
        seen.add_pairs(_pairs(table))


def _pairs(table: Table) -> Iterator[tuple[str, str]]:
    """Yield the first text of each row with each of the others."""
    for _, row in table.rows(ragged=True):
        first, *others = (row.get(column.name, "") for column in COLUMNS[:3])
        # Rows without a text were not used in training.
        yield from ((first, other) for other in others if first and other)


def _is_stsbenchmark(fields: list[str]) -> bool:
    return len(fields) >= 7 and number(fields[4]) is not None


def _is_mrpc(fields: list[str]) -> bool:
    """Return whether there are the column names, or a label and two numbers as in a copy's rows."""
    numbers = [number(field) for field in fields[:3]]
    return fields[0] == "Quality" or (len(fields) == 5 and None not in numbers)


def _is_sick(fields: list[str]) -> bool:
    return fields[0] == "pair_ID" or (len(fields) == 5 and number(fields[3]) is not None)


def _is_trec(fields: list[str]) -> bool:
    return re.match(rf"({'|'.join(TYPES)}):\w+ ", fields[0]) is not None


# Tests of the fields of the first line, and the readers of such files.
FORMATS: tuple[tuple[Callable[[list[str]], bool], Callable[[Path], Iterable[Any]]], ...] = (
    (_is_stsbenchmark, read_stsbenchmark),
    (_is_mrpc, read_mrpc),
    (_is_sick, read_sick),
    (lambda fields: fields[0].count("||") == 3, read_cnsd),
    (_is_trec, read_trec),
)
