"""Queries and the texts that answer them, from the user's tables: one of each in every row.

`data.beir` reads folders in the format of BEIR.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from data.corpus import ANSWER, Corpus, distinct_id
from data.examples import DataError, Document, Query, SentencePair
from data.overlap import groups_by_text, text_hash, tied
from data.pairs import OwnData, RowsOfFile, label_value, refuse_pipes, rows_of
from data.table import LABEL, Column, Table, open_table, pair_columns, plain
from data.tasks import OWN, SPLITS, Splits, says_yes

logger = logging.getLogger("data")

# Of kind "other": a table may have several of these names, and the first of them is used.
QUERY_COLUMN = Column("query", ("question", "title"), kind="other")
LABEL_COLUMN = Column(
    "label",
    ("relevance", "relevant", "grade", "score", "labels", "is_duplicate", "is_paraphrase"),
    required=False,
    kind="other",
)
FEWEST_TRAIN, FEWEST_TEST = 10, 3  # queries
NO_TRAINING = "train nothing: --reader bi late --pretrain none"
REMEDY = "name the columns: --columns FIRST SECOND (or FIRST SECOND LABEL)"
NO_LABEL_REMEDY = "correct the row, or give --columns FIRST SECOND, which reads no label"


def is_search(tables: Sequence[str]) -> bool:
    """Return whether the user's tables have pairs of texts and no labels."""
    try:
        headers = [_open(path) for path in tables]
    except (DataError, OSError):  # of a table that cannot be read, its reader tells why
        return False
    labels = set(map(plain, ("label", *LABEL)))
    return bool(tables) and not any(
        "label" in table.places or labels.intersection(map(plain, table.others))
        for table in headers
    )


def read_search(
    paths: Sequence[str],
    columns: Sequence[str] = (),
    corpus: str | None = None,
    seed: int = 42,
    learns: bool = True,
) -> OwnData:
    """Return the queries of one table, or of tables for train, (dev) and test, and the corpus.

    Each row has a query and a text. Without labels all of these texts are relevant, with grade 1.
    A label is a grade (a whole number; 0 and less is not relevant), or a word such as yes or no.
    Rows of equal queries are one query, and equal texts are one text; the largest of several
    grades of a text counts. One table is split in halves, train and test, and no relevant text is
    in both; if nothing is trained, all of its queries are in test.

    Args:
        paths: one to three tables.
        columns: names or numbers (from 1) of query, text and label; () for usual names.
        corpus: a file with further texts to search.
        seed: of the split.
        learns: whether a part of the queries is for training.

    Raises:
        DataError: a file that cannot be read, a label that is no grade, or too few queries.
    """
    refuse_pipes(paths)
    files = [_read(path, columns) for path in paths]
    searched, query_ids = Corpus(), set[str]()
    parts = [_queries(file, searched, query_ids) for file in files]
    (query, text, label), found = files[0].columns, len(searched.documents)
    is_split = learns and len(parts) == 1
    if is_split:
        parts = [*_halves(parts[0], searched.documents, seed)]
    elif len(parts) == 1:
        parts = [[], *parts]
    train, *dev, test = parts
    more = searched.add_file(corpus)
    task, documents = replace(OWN["search"], texts=(query, text)), tuple(searched.documents)
    splits = Splits(train, dev[0] if dev else [], test, task, corpus=documents)
    check_queries(splits, paths, learns)
    names = ", ".join(Path(path).name for path in paths)
    graded = f", label {label!r}" if any(file.spelled for file in files) else ""
    how = " (split by connected texts)" if is_split else ""
    about = (
        f"{names}: {sum(map(len, parts))} queries {query!r}, {found} texts {text!r}{graded}{more}; "
        f"{sizes(splits)}{how}"
    )
    return OwnData(splits, task, about)


# --- the rows


def _read(path: str, named: Sequence[str]) -> RowsOfFile:
    table = _open_named(path, named) if named else _open(path)
    repeated = "the largest grade is used"
    return rows_of(table, path, ("query", "text"), False, repeated, REMEDY)


def _open_named(path: str, named: Sequence[str]) -> Table:
    label = [replace(LABEL_COLUMN, required=True)] if len(named) > 2 else []
    return open_table(path, (*pair_columns("query", "text"), *label), named=named, flag="--columns")


def _open(path: str) -> Table:
    """Open a table with names of searches, such as title and body, or with usual names of pairs."""
    try:
        columns = (QUERY_COLUMN, Column("text", ANSWER), LABEL_COLUMN)
        return open_table(path, columns, flag="--columns")
    except DataError as error:
        try:
            table = open_table(path, (*pair_columns("query", "text"), LABEL_COLUMN))
        except DataError:
            raise error from None
        if plain(table.header[table.places["text"]]) in ANSWER:  # the other one of two such names
            raise
        return table


def _queries(file: RowsOfFile, corpus: Corpus, ids: set[str]) -> list[Query]:
    """Return the queries of a table, each once, and add its texts to the corpus."""
    judgements = []
    for row in file.rows:
        query, text = row.texts
        where = f"{file.path}:{row.line}"
        grade = 1 if row.label is None else grade_of(where, row.label, NO_LABEL_REMEDY)
        judgements.append((row.line, query, corpus.row_of(text, str(row.line), file.path), grade))

    def identified(text: str, line: int) -> tuple[str, str]:
        return distinct_id(str(line), file.path, ids), text

    return judged(file.path, judgements, identified)


def judged(
    path: str,
    judgements: Iterable[tuple[int, str, int, int]],
    identified: Callable[[str, int], tuple[str, str]],
) -> list[Query]:
    """Return the queries that have a relevant text; a warning counts the others.

    Args:
        path: of the file, for the warning.
        judgements: (line, key of a query, row of a text in the corpus, grade); several grades of
            one text become the largest.
        identified: from a query's key and first line to its id and text.
    """
    lines: dict[str, int] = {}  # the first line of each query
    grades: dict[str, dict[int, int]] = {}  # {key of a query: {row: grade}}
    for line, key, row, grade in judgements:
        lines.setdefault(key, line)
        of_query = grades.setdefault(key, {})
        of_query[row] = max(grade, of_query.get(row, 0))
    queries, without = [], []
    for key, line in lines.items():
        relevant = sorted((row, grade) for row, grade in grades[key].items() if grade > 0)
        if relevant:
            queries.append(Query(*identified(key, line), tuple(relevant)))
        else:
            without.append(line)
    if without:
        logger.warning(
            "%s: %d of %d queries have no relevant text (first: line %d); left out",
            path,
            len(without),
            len(lines),
            without[0],
        )
    return queries


def grade_of(where: str, label: str, remedy: str = "correct the row") -> int:
    """Return the grade of a label, 0 if the text is not relevant."""
    value = label_value(label)
    if isinstance(value, str):
        answer = says_yes(value)
        if answer is not None:
            return int(answer)
    elif value <= 0 or value.is_integer():
        return max(int(value), 0)
    raise DataError(
        f"{where}: label is {label[:40]!r}, expected a whole number (from 1: relevant), yes or no; "
        f"{remedy}"
    )


# --- the parts


def _halves(
    queries: Sequence[Query], corpus: Sequence[Document], seed: int
) -> tuple[list[Query], list[Query]]:
    """Return train and test, of about the same size; queries that texts connect stay together."""
    if not queries:
        return [], []
    groups = groups_by_text(positives(queries, corpus))[_first_pairs(queries)]  # (N,)
    group_sizes = np.bincount(groups)
    generator = np.random.default_rng([seed, len(queries)])
    drawn = generator.permutation(len(group_sizes))
    side = np.zeros(len(group_sizes), np.int64)  # of each group: 0 train, 1 test
    filled = np.zeros(2)
    filled[generator.integers(2)] = 0.5  # decides where the first group goes
    for group in drawn[np.argsort(-group_sizes[drawn], kind="stable")]:  # large groups first
        side[group] = filled.argmin()
        filled[side[group]] += group_sizes[group]
    in_test = side[groups] == 1
    train = [query for query, is_test in zip(queries, in_test, strict=True) if not is_test]
    return train, [query for query, is_test in zip(queries, in_test, strict=True) if is_test]


def check_queries(splits: Splits, paths: Sequence[str], learns: bool) -> None:
    """Refuse too few queries, and note those that are texts of the corpus.

    Args:
        splits: the search.
        paths: of the table that is split, or of those of train and test.
        learns: whether a part of the queries is for training.
    """
    if count := sum(map(len, own_rows(splits.test, splits.corpus))):
        logger.warning(
            "%s: %d text(s) equal a test query that they do not answer; it does not find them",
            paths[-1],
            count,
        )
    is_split = len(paths) == 1
    train, test = len(splits.train), len(splits.test)
    could_be_test = train + test if is_split else test
    if could_be_test < FEWEST_TEST:
        raise DataError(
            f"{paths[-1]}: {could_be_test} queries with a relevant text, at least {FEWEST_TEST} "
            "are needed for the test; add queries"
        )
    if learns and (train < FEWEST_TRAIN or test < FEWEST_TEST):
        there, needed = f"{train} training queries", f"{FEWEST_TRAIN}"
        if is_split:
            there += f" and {test} test queries after the split by connected texts"
            needed += f" and {FEWEST_TEST}"
        raise DataError(
            f"{paths[0]}: {there}, at least {needed} are needed; add queries, or {NO_TRAINING}"
        )


def sizes(splits: Splits) -> str:
    """Return the number of queries of each part that has some: `102 train, 102 test`."""
    parts = zip(SPLITS, (splits.train, splits.dev, splits.test), strict=True)
    return ", ".join(f"{len(part)} {name}" for name, part in parts if part)


# --- pairs and clusters


def positives(queries: Sequence[Query], corpus: Sequence[Document]) -> list[SentencePair]:
    """Return the pairs of each query and a relevant text, with label 1, in order."""
    return [
        SentencePair(f"{query.id}-{corpus[row].id}", query.text, corpus[row].text, 1.0)
        for query in queries
        for row, _ in query.relevant
    ]


def own_rows(queries: Sequence[Query], corpus: Sequence[Document]) -> list[list[int]]:
    """Return, for each query, the rows of texts that equal it (normalised) and do not answer it."""
    if not queries:
        return []
    rows: dict[int, list[int]] = {}
    for row, document in enumerate(corpus):
        rows.setdefault(text_hash(document.text), []).append(row)
    return [
        [row for row in rows.get(text_hash(query.text), ()) if row not in dict(query.relevant)]
        for query in queries
    ]


def _first_pairs(queries: Sequence[Query]) -> np.ndarray:
    """Return the place of each query's first pair among all pairs, (N,)."""
    return np.cumsum([0, *(len(query.relevant) for query in queries)])[:-1]


def query_clusters(queries: Sequence[Query]) -> np.ndarray:
    """Return the cluster of each query, (N,), numbered from 0 in the order of first queries.

    Queries of equal normalised text, and queries with a relevant row in common, are connected.
    """
    if not queries:
        return np.zeros(0, np.int64)
    numbers: dict[int, int] = {}  # {hash of a query's text: its number}
    for query in queries:
        numbers.setdefault(text_hash(query.text), len(numbers))
    pairs = [
        (numbers[text_hash(query.text)], len(numbers) + row)
        for query in queries
        for row, _ in query.relevant
    ]
    return tied(np.array(pairs))[_first_pairs(queries)]
