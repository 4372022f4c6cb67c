"""Files that something was trained on, whatever their format, for the leak audit."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.overlap import DIGESTS, Seen
from data.published import (
    NLI_COLUMNS,
    TYPES,
    iter_nli,
    read_cnsd,
    read_mrpc,
    read_sick,
    read_stsbenchmark,
    read_trec,
)
from data.sentences import iter_sentences
from data.tables import number, plain_name, read_header, read_table
from data.triplets import iter_triplets

PAIR_COLUMNS, TEXT_COLUMNS = ("sentence1", "sentence2"), ("sentence",)  # of CS224N's files


def note_file(path: Path, seen: Seen) -> None:
    """Note the texts, and the pairs, of a training file in `seen`.

    Its first line tells the format: a table of CS224N, NLI pairs, STS-Benchmark as published,
    its Chinese translation, SICK, MRPC, TREC. Any other .csv file holds SimCSE's triplets, and any
    other file without tabs one sentence per line. A file of digests is told by its name.
    """
    if path.name.endswith(DIGESTS):
        seen.add_digests(path)
        return
    # Without quoting: the sentence of a line may begin with a quotation mark.
    fields = read_header(path, "\t", quotes=False)
    for fits, note in FORMATS:
        if fits(fields):
            note(path, seen)
            return
    if plain_name(path).endswith(".csv"):
        seen.add_pairs(_pairs_of_triplets(path))
    elif len(fields) > 1:
        raise DataError(
            f"{path}:1: {len(fields)} tab-separated fields of no known format; expected a table of "
            "CS224N, NLI pairs, STS-Benchmark, SICK, MRPC, triplets (.csv) or one sentence per line"
        )
    else:
        seen.add_texts(iter_sentences(path))


def _examples(read: Callable[[Path], Iterable[Any]]) -> Callable[[Path, Seen], None]:
    return lambda path, seen: seen.add_examples(list(read(path)))


def _table_pairs(path: Path, seen: Seen) -> None:
    # A row that lacks a text was not trained on either.
    rows = (row for _, row in read_table(path, PAIR_COLUMNS, "\t", ragged=True))
    texts = ((row["sentence1"], row["sentence2"]) for row in rows)
    seen.add_pairs(pair for pair in texts if all(pair))


def _table_texts(path: Path, seen: Seen) -> None:
    rows = (row for _, row in read_table(path, TEXT_COLUMNS, "\t", ragged=True))
    seen.add_texts(row["sentence"] for row in rows if row["sentence"])


def _pairs_of_triplets(path: Path) -> Iterator[tuple[str, str]]:
    """Yield an anchor with each of the other texts of its triplet."""
    for triplet in iter_triplets(path):
        for other in triplet.texts[1:]:
            yield triplet.anchor, other


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


# What the fields of the first line tell, and how such a file is noted.
FORMATS: tuple[tuple[Callable[[list[str]], bool], Callable[[Path, Seen], None]], ...] = (
    (lambda fields: set(NLI_COLUMNS) <= set(fields), _examples(iter_nli)),
    (lambda fields: set(PAIR_COLUMNS) <= set(fields), _table_pairs),
    (lambda fields: set(TEXT_COLUMNS) <= set(fields), _table_texts),
    (_is_stsbenchmark, _examples(read_stsbenchmark)),
    (_is_mrpc, _examples(read_mrpc)),
    (_is_sick, _examples(read_sick)),
    (lambda fields: fields[0].count("||") == 3, _examples(read_cnsd)),
    (_is_trec, _examples(read_trec)),
)
