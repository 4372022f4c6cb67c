"""The user's tables: their columns of texts and labels, the task, and a split."""

import logging
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from data.examples import DataError, Example, Sentence, SentencePair
from data.overlap import groups_by_text
from data.table import (
    FIRST,
    ID,
    LABEL,
    SECOND,
    TEXT,
    Column,
    PathLike,
    Table,
    content_digest,
    counted,
    number,
    open_table,
    pair_columns,
    plain,
)
from data.tasks import NO_LABEL, OWN, SPLITS, Splits, Task, says_yes

logger = logging.getLogger("data")

REMEDY = "name the columns: --columns FIRST SECOND LABEL (or TEXT LABEL)"
# A column of this name next to a text is another text; others may state the source of a text.
TEXT_OF_PAIR = {*map(plain, (*FIRST, *SECOND))} - {"a", "b", "source", "target", "context"}
MOST_CLASSES = OWN["classes"].num_classes
FEWEST_ROWS = 50  # of one file, which leaves five rows each for dev and test
MORE_FILES = "give files for dev and test: --pairs TRAIN DEV TEST"
SMALLEST_PART = 0.5  # of the intended size of dev, test or a fold
TASK_WORDS = {
    "paraphrase": "paraphrase detection",
    "similarity": "similarity",
    "classes": "classification",
}


@dataclass(frozen=True)
class OwnData:
    """The rows of the user's tables, and a line that describes how they were read.

    `task` is the record of the task, with names, scale and words from the files.
    """

    splits: Splits
    task: Task
    about: str


UNKNOWN = -1.0  # a label of GLUE's files
FEW = 0.05  # share of rows
HUGE, TINY = 1e6, 1e-3  # of scores and their range: float32 tells no more apart
WITH_UNKNOWN = "with label -1, which means unknown"
# What programs write for a missing text.
NAN = {"nan", "null", "none", "#n/a"}


class Row(NamedTuple):
    """A row of a table with all texts, in which single blanks are the only white space."""

    line: int
    id: str
    texts: tuple[str, ...]
    label: str | None  # as spelled, None without a label


@dataclass(frozen=True)
class RowsOfFile:
    """The rows of one table with all texts."""

    path: str
    columns: tuple[str, ...]  # the names of the texts, then that of the label
    rows: list[Row]

    @property
    def spelled(self) -> list[str]:
        return [row.label for row in self.rows if row.label is not None]


def read_pairs(
    paths: Sequence[str],
    columns: Sequence[str] = (),
    task: str = "",
    seed: int = 42,
    folds: int = 1,
) -> OwnData:
    """Return the rows of one, two or three tables, split into train, dev and test.

    One table is split by connected texts, 80/10/10, or into folds. With two tables the second is
    dev; a third is test, which may have no labels. The labels determine the task, unless `task` is
    given.

    Args:
        paths: of the tables.
        columns: names or numbers (from 1) of the texts and of the label; () for usual names.
        task: a name of OWN, "" to determine it from the labels.
        seed: of the split.
        folds: of one table; 1: it is split 80/10/10.

    Raises:
        DataError: a table that cannot be read, labels that fit no task or several, or rows that
            cannot be split.
    """
    refuse_pipes(paths)
    files = [_read(path, columns, labelled=at < 2) for at, path in enumerate(paths)]
    if task != "classes" and _mark_unknown(files):
        files = [_without_unknown(file) for file in files]
    _refuse_copies(paths)
    if len({len(file.columns) for file in files}) > 1:
        counts = ", ".join(f"{file.path} has {len(file.columns) - 1}" for file in files)
        raise DataError(f"--pairs: {counts} text column(s); give files of one form, or {REMEDY}")
    record = _task_of(files, task)
    parts = [_examples(file, record) for file in files]
    if folds > 1:
        splits = _in_folds(parts[0], record, seed, folds, paths[0])
        assert splits.task is not None
        return OwnData(splits, splits.task, _in_words(files, splits, splits.task))
    if len(parts) == 1:
        train, dev, test = split_by_texts(parts[0], record, seed, paths[0])
    else:
        train, dev, test = [*parts, []][:3]
    places = [*paths, paths[0], paths[0]][:3]
    for name, path, part in zip(SPLITS, places, (train, dev, test), strict=True):
        _check_part(name, path, part, record, len(parts) == 1)
    if record.label_kind == "score":
        record = _on_scale_of(train, record)
    splits = Splits(train, dev, test, record)
    return OwnData(splits, record, _in_words(files, splits, record))


# --- the rows


def _refuse_copies(paths: Sequence[str]) -> None:
    """Refuse files of equal content: a copy, or another link to one file."""
    found: dict[str, str] = {}
    for path in paths:
        first = found.setdefault(content_digest(Path(path)), path)
        if first != path:
            raise DataError(
                f"{path}: has the content of {first}; give different rows for train, dev and test"
            )


def _mark_unknown(files: Sequence[RowsOfFile]) -> bool:
    """Return whether labels -1 mean unknown, by all files: none has many, but all of test may."""
    train = files[0].spelled
    minus = [[label_value(label) == UNKNOWN for label in file.spelled] for file in files]
    few = all(sum(part) <= FEW * len(part) or all(part) for part in minus)
    return few and marks_unknown([*train, "-1"] if not any(minus[0]) else train)


def _without_unknown(file: RowsOfFile) -> RowsOfFile:
    """Return a file without its rows with label -1; without labels, if all are -1."""
    unknown = [row.line for row in file.rows if row.label and label_value(row.label) == UNKNOWN]
    if not unknown:
        return file
    if len(unknown) == len(file.rows):
        logger.warning("%s: all labels are -1; read as a file without labels", file.path)
        return replace(file, rows=[row._replace(label=None) for row in file.rows])
    logger.warning("%s: %s; left out", file.path, counted(unknown, WITH_UNKNOWN))
    return replace(file, rows=[row for row in file.rows if row.line not in {*unknown}])


def marks_unknown(labels: Sequence[str]) -> bool:
    """Return whether labels -1 mean that the label is unknown, as in GLUE's files.

    They do where they are few, no other label is negative, and others are left to learn from.
    """
    values = Counter(map(label_value, labels))
    few = values[UNKNOWN] <= FEW * len(labels)
    others = values.keys() - {UNKNOWN}
    negative = any(isinstance(value, float) and value < 0 for value in others)
    return UNKNOWN in values and few and len(others) > 1 and not negative


def refuse_pipes(paths: Sequence[str]) -> None:
    """Refuse what can be read only once; tables are opened several times."""
    for path in paths:
        if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
            raise DataError(
                f"{path}: is a pipe or a device, which can be read only once; write it to a file"
            )


def _read(path: str, named: Sequence[str], labelled: bool) -> RowsOfFile:
    table = _open(path, named, labelled)
    texts = [name for name in ("sentence1", "sentence2", "text") if name in table.places]
    return rows_of(table, path, texts, labelled)


def check_header(path: str, named: Sequence[str], labelled: bool) -> None:
    """Raise DataError for a table without the columns that are needed."""
    if os.path.isfile(path):
        _open(path, named, labelled)


def rows_of(
    table: Table,
    path: str,
    texts: Sequence[str],
    labelled: bool,
    repeated: str = "all of them are used",
    remedy: str = REMEDY,
) -> RowsOfFile:
    """Return the rows of an open table that have all texts; warnings count the others.

    If a row has a label, those without one are left out, too.

    Args:
        table, path: the table and its file.
        texts: the columns of texts; the columns "label" and "id" are optional.
        labelled: refuse a table without labels.
        repeated: what happens to repeated texts with different labels, for the warning.
        remedy: the end of the message about a table without a row that can be used.
    """
    rows: list[Row] = []
    incomplete: dict[str, list[int]] = {"without a text": [], "without a label": []}  # lines
    for line, fields in table.rows():
        items = tuple(single_blanks(fields[name]) for name in texts)
        if not all(items):
            incomplete["without a text"].append(line)
            continue
        label = single_blanks(fields.get("label", ""))
        row_id = single_blanks(fields.get("id", "")) or str(line)
        has_label = label.casefold() not in NO_LABEL
        rows.append(Row(line, row_id, items, label if has_label else None))
    with_label = [row for row in rows if row.label is not None]
    if labelled or with_label:  # otherwise a test file without labels
        incomplete["without a label"] = [row.line for row in rows if row.label is None]
        rows = with_label
    _note_left_out(path, incomplete, rows, remedy)
    _note_other_labels(path, rows, repeated)
    if lines := [row.line for row in rows if NAN.intersection(map(str.casefold, row.texts))]:
        logger.warning("%s: %s; read as words", path, counted(lines, "whose text is NaN or null"))
    names = tuple(_column(table, name) for name in (*texts, "label"))
    return RowsOfFile(path, names, _with_usable_ids(path, rows))


def _open(path: str, named: Sequence[str], labelled: bool) -> Table:
    """Open a table as pairs, or as single texts if it has no pairs."""
    label = Column("label", LABEL, required=labelled, kind="label")
    id_column = Column("id", ID, required=False, kind="id")
    pair = (*pair_columns(), label, id_column)
    single = (Column("text", TEXT), label, id_column)
    if named:
        wanted = pair if len(named) == 3 else single
        try:
            return open_table(path, wanted, named=named, flag="--columns")
        except DataError:
            if labelled:
                raise
            return open_table(path, wanted, named=named[:-1])
    try:
        return open_table(path, pair, flag="--columns")
    except DataError as error:
        try:
            table = open_table(path, single)
        except DataError:
            raise error from None
        if any(plain(name) in TEXT_OF_PAIR for name in table.others):
            raise
        return table


def _note_left_out(
    path: PathLike, lines_of: dict[str, list[int]], kept: Sequence[Any], remedy: str = REMEDY
) -> None:
    """Warn of rows that are left out, by what is wrong with them; refuse a table of no others."""
    for what, lines in lines_of.items():
        if lines:
            count = counted(lines, what)
            if not kept:
                raise DataError(f"{path}: {count}, and no others; fill them in, or {remedy}")
            logger.warning("%s: %s; left out", path, count)


def _note_other_labels(path: str, rows: Sequence[Row], repeated: str) -> None:
    """Warn of rows with the texts of an earlier row and a different label."""
    earlier: dict[tuple[str, ...], Row] = {}
    both = [(earlier.setdefault(row.texts, row), row) for row in rows]
    differing = [
        (a, b)
        for a, b in both
        if a.label and b.label and label_value(a.label) != label_value(b.label)
    ]
    if differing:
        a, b = differing[0]
        logger.warning(
            "%s: %d row(s) repeat the texts of an earlier row with another label (first: lines %d "
            "and %d); %s",
            path,
            len(differing),
            a.line,
            b.line,
            repeated,
        )


def _column(table: Table, name: str) -> str:
    """Return a column's name in the header; the usual name without a header."""
    return (
        single_blanks(table.header[table.places[name]])
        if table.header and name in table.places
        else name
    )


def single_blanks(text: str) -> str:
    """Return a text with all white space replaced by single blanks, for rows of files."""
    return " ".join(text.split())


def _with_usable_ids(path: str, rows: list[Row]) -> list[Row]:
    """Return the rows, with line numbers as ids if the ids are not distinct."""
    counts = Counter(row.id.lower() for row in rows)  # which courses do not distinguish
    for row in rows:
        if counts[row.id.lower()] > 1 or "," in row.id:
            why = "is there more than once" if counts[row.id.lower()] > 1 else "holds a comma"
            logger.warning(
                "%s:%d: id %r %s; line numbers are used as ids", path, row.line, row.id[:40], why
            )
            return [row._replace(id=str(row.line)) for row in rows]
    return rows


# --- the task


def _task_of(files: Sequence[RowsOfFile], named: str) -> Task:
    """Return the task that the labels mean, with the names, scale and words of the first file.

    The scale of a similarity is not final: it is that of the rows to train on (`_on_scale_of`).
    """
    first = files[0]
    columns, counts = first.columns, Counter(map(label_value, first.spelled))
    where, shown = f"{first.path}: label {columns[-1]!r}", _few(counts)
    numeric = all(isinstance(value, float) for value in counts)
    if len(counts) < 2:
        raise DataError(
            f"{where} is {shown} in all rows, so nothing can be learned; give "
            "rows with other labels"
        )
    single = len(columns) == 2
    kind = named or _kind_of(where, single, counts)
    if single and kind != "classes":
        raise DataError(
            f"--task {kind}: {first.path} has {len(columns) - 1} text column(s); leave out --task, "
            f"or {REMEDY}"
        )
    words: tuple[str, ...] = ()
    if kind == "similarity":
        if not numeric:
            raise _no_scores(first, where, counts, shown)
        _check_scales(files)
    elif kind == "paraphrase":
        words = _no_and_yes(where, counts, shown, numeric and bool(named))
    elif len(counts) > MOST_CLASSES:
        raise DataError(
            f"{where} has {len(counts)} values ({shown}), expected at most {MOST_CLASSES} "
            f"classes; merge some, or {REMEDY}"
        )
    else:
        ordered = sorted(counts, key=lambda value: (isinstance(value, str), value))
        words = tuple(map(_shown, ordered))
    if not numeric:  # as they are spelled first
        spelled = {_shown(label_value(label)): label for label in reversed(first.spelled)}
        words = tuple(spelled[word] for word in words)
    largest = float(max(len(words) - 1, 1))
    record = replace(
        OWN[kind],
        about=_about(kind, 0.0, largest, words),
        texts=columns[:-1],
        label=columns[-1],
        prediction_header=columns[-1],
        lowest=0.0,
        largest=largest,
        words=words,
    )
    _check_words(files, record)
    return record


def _numbers_of(record: Task) -> dict[str, float]:
    """Return the number of each label of classes, such as {"no": 0.0, "yes": 1.0}; {} for scores.

    Keys are labels as `_shown` writes them, however they are spelled.
    """
    return {_shown(label_value(word)): float(at) for at, word in enumerate(record.words)}


def _kind_of(where: str, single: bool, counts: Counter[float | str]) -> str:
    """Return the name of the task that labels mean unless the user names one.

    Raises:
        DataError: the labels of pairs are three or more whole numbers without gaps, such as 0, 1
            and 2, which may be classes or scores.
    """
    numbers = [value for value in counts if isinstance(value, float)]
    if single or not (numbers or len(counts) == 2):
        return "classes"
    if len(counts) == 2:
        return "paraphrase"
    whole = len(numbers) == len(counts) and all(map(float.is_integer, numbers))
    if whole and len(counts) <= MOST_CLASSES and max(numbers) - min(numbers) == len(counts) - 1:
        raise DataError(
            f"{where} is {', '.join(map(_shown, sorted(numbers)))}: classes, or scores? Give "
            "--task classes or --task similarity"
        )
    return "similarity"


def _on_scale_of(train: Sequence[SentencePair], record: Task) -> Task:
    """Return a record with the scale of the labels of the training pairs.

    Heads are trained on this scale, so rows that are scored later must not decide it.
    """
    labels = [pair.label for pair in train if pair.label is not None]
    lowest, largest = float(floor(min(labels))), float(ceil(max(labels)))
    about = _about("similarity", lowest, largest, ())
    return replace(record, about=about, lowest=lowest, largest=largest)


def _about(kind: str, lowest: float, largest: float, words: Sequence[str]) -> str:
    if kind == "similarity":
        return f"similarity {lowest:g} to {largest:g}"
    return (
        f"paraphrase {words[1]}/{words[0]}"
        if kind == "paraphrase"
        else f"classes {', '.join(words)}"
    )


def label_value(label: str) -> float | str:
    """Return a label as a number, or as a lower-case word.

    A decimal comma is allowed, except where three digits after it may be thousands: 1,250.
    """
    thousands = re.search(r"[1-9]\d*,\d{3}$", label)
    value = None if thousands else number(label.replace(",", ".", 1))
    return label.casefold() if value is None else value


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _few(counts: Counter[float | str]) -> str:
    """Return the first labels, cut where they are long, for messages."""
    return ", ".join(_shown(value)[:30] for value in list(counts)[:3]) + ", ..." * (len(counts) > 3)


def _no_and_yes(
    where: str, counts: Counter[float | str], shown: str, larger_is_yes: bool
) -> tuple[str, str]:
    """Return the two labels of paraphrase detection, no first; for 0 and 1, yes is 1."""
    if len(counts) != 2:
        raise DataError(f"{where} has {len(counts)} values ({shown}), expected two, as 0 and 1")
    values = sorted(value for value in counts if isinstance(value, float))
    if len(values) == 2:
        if not larger_is_yes and values not in ([0.0, 1.0], [-1.0, 1.0]):
            raise DataError(
                f"{where} is {shown}: two scores, or no and yes? Give --task similarity, or "
                "--task paraphrase (the larger is yes)"
            )
        return _shown(values[0]), _shown(values[1])
    a, b = sorted(map(_shown, counts))
    # One label that means yes is enough, or one that means no.
    for answer in (True, False):
        words = [word for word in (a, b) if says_yes(word) is answer]
        if len(words) == 1:
            first_is_no = (words == [a]) != answer
            return (a, b) if first_is_no else (b, a)
    raise DataError(f"{where} is {a!r} or {b!r}; which is yes? Write 1 for yes and 0 for no")


def _no_scores(file: RowsOfFile, where: str, counts: Counter[float | str], shown: str) -> DataError:
    """Return the error for labels of similarities that are not numbers."""
    words = {value for value in counts if isinstance(value, str)}
    row = next(
        row for row in file.rows if row.label is not None and label_value(row.label) in words
    )
    if len(words) < len(counts):
        return DataError(
            f"{file.path}:{row.line}: label is {str(row.label)[:40]!r}, expected a number, "
            "as in other rows; correct the row, or give --task classes"
        )
    return DataError(
        f"{where} has {len(counts)} words ({shown}), and --task similarity needs numbers; "
        "leave out --task, or write numbers"
    )


def _check_scales(files: Sequence[RowsOfFile]) -> None:
    """Refuse dev or test labels that are not numbers or have another scale than train's."""
    spans = {}
    for file in files:
        values = []
        for row in file.rows:
            value = None if row.label is None else label_value(row.label)
            if isinstance(value, str):
                raise DataError(
                    f"{file.path}:{row.line}: label is {value[:40]!r}, expected a number as in "
                    "other rows; correct the row"
                )
            if value is not None:
                values.append(value)
        if values and (max(map(abs, values)) > HUGE or 0 < np.ptp(values) < TINY):
            raise DataError(
                f"{file.path}: labels go from {min(values):g} to {max(values):g}; rescale them, "
                "for example to 0 to 1, in all files alike"
            )
        if len(values) > 1:
            spans[file.path] = (min(values), max(values))
    (train, (low, high)), *others = spans.items()
    for path, (lowest, largest) in others:
        width, other = high - low, largest - lowest
        # Labels of a few rows may be close together, but not all in the lower half.
        outside = lowest < low or largest > high or (other and largest <= low + width / 2)
        if max(width, other) > 2 * min(width, other) and outside:
            raise DataError(
                f"{path}: labels go from {lowest:g} to {largest:g}, those of {train} from {low:g} "
                f"to {high:g}; rescale them to the same range"
            )


def _check_words(files: Sequence[RowsOfFile], record: Task) -> None:
    """Refuse dev or test labels that train does not have."""
    numbers = _numbers_of(record)
    for file in files[1:] if numbers else ():
        for row in file.rows:
            if row.label is not None and _shown(label_value(row.label)) not in numbers:
                raise DataError(
                    f"{file.path}:{row.line}: label is {row.label[:40]!r}, those of "
                    f"{files[0].path} are {', '.join(record.words)}; use the same labels"
                )


def _examples(file: RowsOfFile, record: Task) -> list[Any]:
    """Return the rows of a file as examples, with labels as numbers."""
    examples: list[Example] = []
    numbers = _numbers_of(record)
    for row in file.rows:
        label = None
        if row.label is not None:
            value = label_value(row.label)
            label = numbers[_shown(value)] if numbers else float(value)
        if record.is_pair:
            examples.append(SentencePair(row.id, row.texts[0], row.texts[1], label))
        else:
            examples.append(Sentence(row.id, row.texts[0], None if label is None else int(label)))
    return examples


# --- the split


def split_by_texts(
    examples: Sequence[Any], task: Task, seed: int, path: str = "the file"
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return train, dev and test, 80/10/10, with no text in two parts.

    Rows that are connected by shared texts stay in one part. Groups are drawn by the seed, and all
    parts have about the same shares of the classes.

    Raises:
        DataError: there are too few rows, or one group of them is too large.
    """
    count = len(examples)
    groups, members = _groups(examples, task, path)
    held_out = count - int(0.8 * count)
    sizes = np.array([held_out // 2, held_out - held_out // 2])  # of dev and test
    free = sizes.copy()
    # The remaining number of rows of each label for dev and test, (2, L).
    shares = sizes[:, None] * members.sum(axis=0) / count
    part = np.zeros(len(members), np.int64)  # of each group: 0 train, 1 dev, 2 test
    for group in np.random.default_rng([seed, count]).permutation(len(members)):
        emptier = int(free[1] / sizes[1] > free[0] / sizes[0])
        for side in (emptier, 1 - emptier):
            fits = members[group].sum() <= free[side]
            if fits and (members[group] <= shares[side] + 0.5).all():
                part[group] = side + 1
                free[side] -= members[group].sum()
                shares[side] -= members[group]
                break
    if (free > (1 - SMALLEST_PART) * sizes).any():
        raise _too_connected(members, path)
    rows = part[groups]
    train, dev, test = (
        [example for example, at in zip(examples, rows, strict=True) if at == side]
        for side in range(3)
    )
    return train, dev, test


def folds_by_texts(
    examples: Sequence[Any], task: Task, seed: int, folds: int, path: str = "the file"
) -> np.ndarray:
    """Return the fold of each row, (N,) numbers from 0, with no text in two folds.

    The folds have about the same size and the same shares of the classes.

    Raises:
        DataError: there are too few rows, or one group of them is too large.
    """
    groups, members = _groups(examples, task, path)
    # The remaining number of rows of each label for each fold, (folds, L).
    room = np.tile(members.sum(axis=0) / folds, (folds, 1))
    fold = np.zeros(len(members), np.int64)  # of each group
    drawn = np.random.default_rng([seed, len(examples)]).permutation(len(members))
    # Large groups first; small ones fill what is left.
    for group in drawn[np.argsort(-members[drawn].sum(axis=1), kind="stable")]:
        fold[group] = (room @ members[group]).argmax()
        room[fold[group]] -= members[group]
    rows = fold[groups]
    sizes = np.bincount(rows, minlength=folds)
    if sizes.min() < SMALLEST_PART * len(rows) // folds:
        raise _too_connected(members, path)
    return rows


def _in_folds(examples: list[Any], task: Task, seed: int, folds: int, path: str) -> Splits:
    """Return a table in folds; each fold's train rows determine the scale of its heads."""
    rows = folds_by_texts(examples, task, seed, folds, path)
    parts = []
    for fold in range(folds):
        train = [example for example, at in zip(examples, rows, strict=True) if at != fold]
        test = [example for example, at in zip(examples, rows, strict=True) if at == fold]
        _check_part("train", path, train, task, is_split=True)
        record = _on_scale_of(train, task) if task.label_kind == "score" else task
        parts.append(Splits(train, [], test, record))
    record = _on_scale_of(examples, task) if task.label_kind == "score" else task
    return Splits(examples, [], [], record, tuple(parts))


def _groups(examples: Sequence[Any], task: Task, path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of each row by connected texts, (N,), and the `_members` of each.

    Raises:
        DataError: there are too few rows to be split.
    """
    if len(examples) < FEWEST_ROWS:
        raise DataError(
            f"{path}: {len(examples)} rows, at least {FEWEST_ROWS} to be split; {MORE_FILES}"
        )
    groups = groups_by_text(examples)
    return groups, _members(groups, examples, task)


def _too_connected(members: np.ndarray, path: str) -> DataError:
    largest, count = int(members.sum(axis=1).max()), int(members.sum())
    return DataError(
        f"{path}: shared texts connect {largest} of {count} rows, and a text may occur in only "
        f"one split; {MORE_FILES}"
    )


def _members(groups: np.ndarray, examples: Sequence[Any], task: Task) -> np.ndarray:
    """Return the number of rows of each label per group, (G, L) integers; for scores L is 1."""
    columns = np.zeros(len(examples), np.int64)
    if task.label_kind != "score":
        columns = np.array([int(example.label) for example in examples])
    counts = np.zeros((groups.max() + 1, columns.max() + 1), np.int64)
    np.add.at(counts, (groups, columns), 1)
    return counts


def _check_part(name: str, path: str, examples: Sequence[Any], task: Task, is_split: bool) -> None:
    """Raise DataError for a part that is unusable for training, selection or scoring."""
    labels = {example.label for example in examples}
    if not examples or labels == {None}:
        return  # a test part may have no labels, or be missing
    if name == "train" and task.words and len(labels) < len(task.words):
        wanted = "every label"
    elif len(labels) < 2:
        wanted = "more than one label"
    else:
        return
    remedy = "more rows, or files for dev and test: --pairs TRAIN DEV TEST"
    if not is_split:
        remedy = "a file that has it"
    raise DataError(f"{path}: the {name} part needs {wanted}; give {remedy}")


# --- the description of the tables


def _in_words(files: Sequence[RowsOfFile], splits: Splits, task: Task) -> str:
    examples = [e for part in (splits.train, splits.dev, splits.test) for e in part]
    counts = Counter(example.label for example in examples if example.label is not None)
    if task.label_kind == "score":
        labels = f"from {min(counts):g} to {max(counts):g}"
    elif task.label_kind == "binary":
        no, yes = task.words
        said = [
            f"{counts[1]} yes" + (f" ({yes})" if yes.casefold() != "yes" else ""),
            f"{counts[0]} no" + (f" ({no})" if no.casefold() != "no" else ""),
        ]
        labels = f"with {said[0]} and {said[1]}"
    else:
        said = [f"{counts[at]} {word}" for at, word in enumerate(task.words)]
        labels = f"with {len(said)} classes ({', '.join(said)})"
    names = ", ".join(Path(file.path).name for file in files)
    sizes = "/".join(str(len(part)) for part in (splits.train, splits.dev, splits.test))
    item = "pairs" if task.is_pair else "texts"
    if without := len(examples) - counts.total():
        item += f" ({without} without a label)"
    how = f"split {sizes} by connected texts" if len(files) == 1 else f"train/dev/test {sizes}"
    if folds := len(splits.folds):
        how = f"every row is scored once ({folds} folds by connected texts)"
    return (
        f"{names}: {len(examples)} {item}, label {task.label!r} {labels}: {TASK_WORDS[task.name]}; "
        f"{how}"
    )


# --- pairs that are labelled yes or no, for thresholds


def read_labelled(
    path: Path, task: Task, named: Sequence[str] = (), at: float | None = None
) -> list[SentencePair]:
    """Return the pairs of a table, in order; labels are 0.0 and 1.0.

    Rows without a label or a text are left out, with a warning.

    Args:
        path: as in `open_table`.
        task: of the head, with the names of the columns in the run's tables.
        named: the names or numbers of the columns; () for those of the task, or usual ones.
        at: labels are scores, and pairs of this score or more are positive.

    Raises:
        DataError: as `open_table`; a label that is neither yes nor no, or no row with all of it.
    """
    columns = task.columns
    table = open_table(path, columns, named=named, flag="--columns")
    rows = [(line, [row[c.name].strip() for c in columns]) for line, row in table.rows()]
    spelled = [fields[-1] for _, fields in rows if fields[-1].casefold() not in NO_LABEL]
    values = set(map(label_value, spelled))
    unknown = at is None and ({0.0, 1.0} <= values or marks_unknown(spelled))
    left_out: dict[str, list[int]] = {"without a label": [], WITH_UNKNOWN: [], "without a text": []}
    pairs: list[SentencePair] = []
    for line, (first, second, label) in rows:
        if label.casefold() in NO_LABEL:
            left_out["without a label"].append(line)
        elif unknown and label_value(label) == UNKNOWN:
            left_out[WITH_UNKNOWN].append(line)
        elif not first or not second:
            left_out["without a text"].append(line)
        else:
            label_of = _label(f"{path}:{line}", label, at, task.words)
            pairs.append(SentencePair(str(line), first, second, label_of))
    _note_left_out(path, left_out, pairs)
    return pairs


def _label(where: str, label: str, at: float | None, words: Sequence[str] = ()) -> float:
    value = label_value(label)
    if at is None and label.casefold() in (known := [word.casefold() for word in words]):
        return float(known.index(label.casefold()))  # as in the run's tables
    if at is not None:
        if isinstance(value, str):
            raise DataError(
                f"{where}: label {label[:40]!r}, expected a score; correct the "
                "row, or leave out --at"
            )
        return float(value >= at)
    answer = says_yes(value if isinstance(value, str) else f"{value:g}")
    if answer is not None:
        return float(answer)
    is_word = isinstance(value, str)
    remedy = "correct the row" if is_word else "give --at SCORE if labels are scores"
    raise DataError(f"{where}: label {label[:40]!r}, expected 0 or 1, yes or no; {remedy}")
