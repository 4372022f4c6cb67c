"""Folders in the format of BEIR (Thakur et al., 2021): a corpus, queries, and judgements (qrels).

They have corpus.jsonl (_id, title, text), queries.jsonl (_id, text), and up to three tables
qrels/{train,dev,test}.tsv (query-id, corpus-id, score). All may be compressed.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.corpus import TITLE, Corpus, titled
from data.examples import DataError, Document, Query
from data.pairs import OwnData
from data.search import NO_TRAINING, check_queries, grade_of, judged, read_search, sizes
from data.table import Column, counted, open_table, stored
from data.tasks import OWN, SPLITS, Splits

logger = logging.getLogger("data")

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
TEXTS = (Column("_id", kind="id"), TITLE, Column("text"))
JUDGEMENTS = tuple(Column(name, kind="other") for name in ("query-id", "corpus-id", "score"))


def read_searched(options: Mapping[str, Any], tables: Sequence[str], folder: Path) -> OwnData:
    """Return the queries and texts of a run: of the user's tables, or of a folder in BEIR's form.

    Args:
        options: the settings of the run.
        tables: of the user; [] to read the folder, or `search` in it.
        folder: of the data.

    Raises:
        DataError: they cannot be read, or there are too few.
    """
    is_trained = "cross" in options["reader"] and set(options["tune"]) != {"none"}
    learns, corpus = set(options["pretrain"]) != {"none"} or is_trained, options["corpus"]
    if tables:
        return read_search(tables, options["columns"], corpus, options["seed"], learns)
    for place in (folder, folder / "search"):
        if is_beir(place):
            return read_beir(place, corpus, learns)
    raise DataError(
        f"{folder}: no corpus.jsonl, queries.jsonl and qrels/test.tsv in it; give a folder of that "
        "form with --data (or to run_multitask.py a table of queries and answers with --pairs)"
    )


def is_beir(folder: Path) -> bool:
    """Return whether a folder has one of the two files that are in every folder of BEIR."""
    return any(stored(folder / name).is_file() for name in (CORPUS, QUERIES))


def read_beir(folder: Path, corpus: str | None = None, learns: bool = True) -> OwnData:
    """Return the judged queries and the corpus of a folder in the format of BEIR.

    Queries keep their ids, in the order of the qrels. A score of 0 or less is not relevant.

    Args:
        folder: qrels/test.tsv is needed, train.tsv and dev.tsv are optional.
        corpus: a file with further texts to search.
        learns: whether there must be queries for training.

    Raises:
        DataError: a file that is missing or cannot be read, an id that is unknown or there twice,
            a score that is no grade, or too few queries.
    """
    qrels = {split: folder / "qrels" / f"{split}.tsv" for split in SPLITS}
    there = {split: path for split, path in qrels.items() if stored(path).exists()}
    if "test" not in there:
        found = ", ".join(path.name for path in there.values()) or "no other file of qrels"
        raise DataError(
            f"{qrels['test']}: is missing (there is {found}); add the judgements of test queries"
        )
    if learns and "train" not in there:
        raise DataError(
            f"{qrels['train']}: is missing; add judgements to learn from, or {NO_TRAINING}"
        )
    texts, queries = _texts_by_id(folder / CORPUS), _texts_by_id(folder / QUERIES)
    searched = Corpus(Document(id, text) for id, text in texts.items())
    if equal := len(texts) - len(searched.rows):
        logger.warning(
            "%s: %d text(s) equal an earlier one under another id; all of them are kept",
            folder / CORPUS,
            equal,
        )
    rows = {id: row for row, id in enumerate(texts)}
    parts = {split: _judged(path, queries, rows) for split, path in there.items()}
    more = searched.add_file(corpus)
    train, dev, test = (parts.get(split, []) for split in SPLITS)
    task = OWN["search"]
    splits = Splits(train, dev, test, task, corpus=tuple(searched.documents))
    check_queries(splits, (str(qrels["train"]), str(qrels["test"])), learns)
    count, name = sum(map(len, parts.values())), folder.resolve().name
    about = f"{name}: {count} queries, {len(texts)} texts{more}; {sizes(splits)}"
    return OwnData(splits, task, about)


def _texts_by_id(path: Path) -> dict[str, str]:
    """Return {id: text} of a file of JSON lines; a title goes before the text."""
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, row in open_table(path, TEXTS).rows():
        id = row["_id"].strip()
        if not id.isprintable() or not id:
            raise DataError(f"{path}:{line}: _id {id[:40]!r}; give each text an id of one line")
        if id in lines:
            raise DataError(
                f"{path}:{line}: _id {id[:40]!r} is on line {lines[id]} too; give each text a "
                "unique _id"
            )
        lines[id], texts[id] = line, titled(row)
    if empty := [lines[id] for id, text in texts.items() if not text]:
        logger.warning("%s: %s; kept", path, counted(empty, "without a text"))
    return texts


def _judged(path: Path, queries: Mapping[str, str], rows: Mapping[str, int]) -> list[Query]:
    """Return the queries of a file of qrels with a relevant text.

    Args:
        path: of the table.
        queries: {id: text}.
        rows: {id of a text: its row in the corpus}.
    """
    judgements: list[tuple[int, str, int, int]] = []
    unknown: dict[str, list[tuple[int, str]]] = {QUERIES: [], CORPUS: []}  # lines and ids
    for line, fields in open_table(path, JUDGEMENTS, quotes=False).rows():
        query, document = fields["query-id"].strip(), fields["corpus-id"].strip()
        grade = grade_of(f"{path}:{line}", fields["score"].strip())
        if query not in queries:
            unknown[QUERIES].append((line, query))
        elif document not in rows:
            unknown[CORPUS].append((line, document))
        else:
            judgements.append((line, query, rows[document], grade))
    for name, faults in unknown.items():
        if faults:
            line, id = faults[0]
            raise DataError(
                f"{path}:{line}: {id[:40]!r} is no _id of {name} ({len(faults)} such row(s)); "
                f"add it to {name}, or delete the row(s)"
            )
    return judged(str(path), judgements, lambda id, line: (id, queries[id]))
