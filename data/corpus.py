"""The texts that a search goes through: each has an id and a row."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from data.examples import DataError, Document
from data.pairs import single_blanks
from data.table import ID, TEXT, Column, counted, open_texts

logger = logging.getLogger("data")

# Names of texts that answer queries.
ANSWER = ("passage", "answer", "document", "body", "context")
TITLE = Column("title", required=False, kind="other")


class Corpus:
    """The texts that are searched. `row_of` adds a text unless there is an equal one.

    Attributes:
        documents: in the order of their rows.
        rows: {text: its first row}.
    """

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self.documents = list(documents)
        self.rows: dict[str, int] = {}
        for row, document in enumerate(self.documents):
            self.rows.setdefault(document.text, row)
        self._ids = {document.id for document in self.documents}

    def row_of(self, text: str, id: str, path: str) -> int:
        """Return the row of a text; a new one gets the id, or another if a text has this id."""
        if text not in self.rows:
            self.rows[text] = len(self.documents)
            self.documents.append(Document(distinct_id(id, path, self._ids), text))
        return self.rows[text]

    def add_file(self, path: str | None) -> str:
        """Add the texts of a file, if one is given; return their count in words.

        It has a text per line, or a column of texts, to which a column `title` belongs. Ids are
        those of the file, or line numbers if an id is missing, there twice or not of one line.

        Raises:
            DataError: the file cannot be read.
        """
        if path is None:
            return ""
        columns = (Column("text", (*TEXT, *ANSWER)), TITLE, Column("id", ID, False, kind="id"))
        table = open_texts(path, columns)
        read = [(line, row.get("id", "").strip(), titled(row)) for line, row in table.rows()]
        empty = [line for line, _, text in read if not text]
        if empty and table.delimiter:  # in a file with a text per line, they are blank lines
            logger.warning("%s: %s; left out", path, counted(empty, "without a text"))
        filled = [row for row in read if row[2]]
        ids = {id for _, id, _ in filled}
        usable = "" not in ids and len(ids) == len(filled) and "".join(ids).isprintable()
        before = len(self.documents)
        for line, id, text in filled:
            self.row_of(text, id if usable else str(line), path)
        return f", {len(self.documents) - before} more from {Path(path).name}"


def read_corpus(path: Path) -> list[Document]:
    """Return the texts of a file, each once; see `Corpus.add_file`.

    Raises:
        DataError: the file cannot be read, or has no text.
    """
    corpus = Corpus()
    corpus.add_file(str(path))
    if not corpus.documents:
        raise DataError(f"{path}: no texts in it; write one per line")
    return corpus.documents


def titled(row: Mapping[str, str]) -> str:
    """Return the title, if a row has one, and the text, with single blanks as white space."""
    return single_blanks(f"{row.get('title', '')} {row['text']}")


def distinct_id(id: str, path: str, taken: set[str]) -> str:
    """Return an id that is not taken, and note it: 7, faq.tsv:7, faq.tsv:7:2, ..."""
    free, count = id, 1
    while free in taken:
        free = f"{Path(path).name}:{id}" + (f":{count}" if count > 1 else "")
        count += 1
    taken.add(free)
    return free
