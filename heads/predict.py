"""Predict new texts, read from a file in pieces, with a trained head."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import torch

from data.examples import DataError
from data.table import TEXT, Column, Table, counted, open_table, open_texts
from data.tasks import ID_COLUMN, Task
from heads.features import Item
from heads.saved import SavedHead
from runtime.files import check_outputs, whole_file
from runtime.progress import progress
from runtime.streams import printable

logger = logging.getLogger("data")

PIECE = 4096  # rows in memory at once


def predict_file(
    head: SavedHead, path: Path, out: Path | None, columns: Sequence[str] = ()
) -> None:
    """Predict the rows of a file, as many as there are; write a table to `out`, or print it.

    Raises:
        UserError: a row of the file cannot be read; then `out` is not written.
    """
    check_outputs([out], [path])
    # A generator: rows are read when their lines are written.
    lines = predicted_lines(head, read_rows(path, head.task, columns))
    write_table(header_of(head.task), lines, out)


def write_table(header: str, lines: Iterator[str], out: Path | None) -> None:
    """Write a header and lines to a file that appears whole, or print them."""
    if out is None:
        # Rows are read before the header is printed, so a refused file prints nothing.
        first = list(islice(lines, 1))
        for line in chain([header], first, lines):
            print(line)
        return
    with whole_file(out) as temporary, temporary.open("w", encoding="utf-8") as file:
        # Their number is only known at the end.
        with progress("predict", None, "row") as bar:
            file.write(f"{header}\n")
            for line in lines:
                file.write(f"{line}\n")
                bar.update()


def read_rows(path: Path, task: Task, named: Sequence[str] = ()) -> Iterator[tuple[str, Item]]:
    """Yield the id and the one or two texts of each row of a table.

    For tasks with one text, each line is a text unless there is a header. Blank lines are skipped.
    Without ids, line numbers are used. A row that lacks a text is kept, with a warning.
    The texts have the names of the run's table or usual ones, unless `named` has names or numbers.

    Raises:
        DataError: as `open_table` and `open_one_text`; a tab in a line that is a text.
    """
    if task.is_pair:
        table = open_table(path, (*task.columns[:-1], ID_COLUMN), named=named, flag="--columns")
    else:
        table = open_one_text(path, task.texts[0], named)
    empty: list[int] = []  # line numbers
    for line, row in table.rows():
        texts = tuple(row[name].strip() for name in task.texts)
        if not (any(texts) or table.delimiter):
            continue
        if not table.delimiter and "\t" in texts[0]:
            raise DataError(
                f"{path}:{line}: {texts[0].count(chr(9)) + 1} tab-separated field(s), expected 1; "
                f"correct the row, or give a header with {task.texts[0]}"
            )
        if not all(texts):
            empty.append(line)
        yield row.get("id", str(line)).strip() or str(line), texts
    if empty:
        logger.warning("%s: %s; read as empty texts", path, counted(empty, "without a text"))


def open_one_text(path: Path, name: str, named: Sequence[str] = ()) -> Table:
    """Open a table with a column of texts, and perhaps ids, or a file with a text per line.

    Raises:
        DataError: as `open_texts`.
    """
    columns = Column(name, TEXT), ID_COLUMN
    if named:
        return open_table(path, columns, named=named, flag="--columns")
    return open_texts(path, columns, hint="; or name the column: --columns NAME (or its number)")


def header_of(task: Task) -> str:
    """Return the first line of the output: id, prediction, and its probabilities."""
    names = ["id", task.label]
    if task.label_kind == "binary":
        names.append("probability")
    elif task.label_kind == "classes":
        words = task.words or range(task.num_classes)
        names += [f"p{word}" if isinstance(word, int) else f"p_{word}" for word in words]
    return "\t".join(names)


def predicted_lines(head: SavedHead, rows: Iterable[tuple[str, Item]]) -> Iterator[str]:
    """Yield a line for each row, with the fields of `header_of`."""
    rows = iter(rows)
    # A score is the prediction; a class is followed by its probabilities.
    scored = head.task.label_kind in ("score", "ranking")
    while piece := list(islice(rows, PIECE)):
        ids, texts = zip(*piece, strict=True)
        logits = torch.from_numpy(head.logits(texts))  # (N,) or (N, C)
        hard = head.head.predict(logits).tolist()
        # (N,) or (N, C) -> (N, 1) or (N, C): one list of numbers per row.
        soft = head.head.soft(logits).reshape(len(piece), -1).tolist()
        for id, prediction, values in zip(ids, hard, soft, strict=True):
            numbers = [f"{value:.6f}" for value in values]
            yield "\t".join(
                [
                    printable(id),
                    *([] if scored else [printable(head.task.spelled(prediction))]),
                    *numbers,
                ]
            )
