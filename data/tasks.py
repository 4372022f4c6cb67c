"""The tasks: a record of each task, and readers of CS224N's files.

The three tasks of the course have fixed files and scales. `data.pairs` reads other files, whose
labels determine which of the three tasks of OWN they are for.

The course's files are named .csv but tab-separated, and quoted by csv's default rules: its starter
code reads them with `csv.DictReader(file, delimiter="\\t")`. These readers read the same rows, and
also other tables: see `data.table`.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os.path import lexists
from pathlib import Path
from typing import Any

from data.examples import DataError, Document, Sentence, SentencePair
from data.table import (
    DECIMAL_COMMA,
    ID,
    LABEL,
    TEXT,
    Column,
    PathLike,
    number,
    open_table,
    pair_columns,
    score,
    stored,
)
from runtime.files import digest

logger = logging.getLogger("data")

SPLITS = ("train", "dev", "test")
EVERY_ROW = "all"  # the split of a table in folds
# Of a search; each is a mean over queries.
RANKING = ("ndcg@10", "mrr@10", "recall@10", "recall@100")
# Rows of STS-Benchmark counted through its train, dev and test files, in that order.
OFFICIAL_DEV_ROWS = range(5749, 7249)


# --- labels

# Labels of pairs that mean the same, and of others.
YES = {
    *("1", "yes", "y", "true", "t", "duplicate", "paraphrase", "same", "match", "similar"),
    *("equivalent", "positive", "entailment", "related", "is_duplicate", "is_paraphrase"),
}
NO = {
    *("0", "-1", "no", "n", "false", "f", "different", "negative", "unrelated", "dissimilar"),
    *("nomatch", "mismatch"),
}
NOT = re.compile(r"(not|non|no)[ _-]?(\w+)")  # not_duplicate, non-paraphrase
# Placeholders of unknown labels; the second is that of GLUE's test files.
NO_LABEL = {"", "nan", "null", "none", "na", "n/a", "#n/a", "-", "?"}
UNKNOWN = "-1"


def says_yes(label: str) -> bool | None:
    """Return whether a label means yes, in any case; None if it means neither yes nor no."""
    word = label.strip().casefold()
    if word in YES:
        return True
    negated = NOT.fullmatch(word)
    return False if word in NO or (negated and negated[2] in YES) else None


# --- the readers

ID_COLUMN = Column("id", ID, required=False, kind="id")
PHENOMENON = Column("phenomenon", required=False, kind="other")
OFFICIAL_ROW = Column("", required=False, kind="other")  # as pandas writes its index
# Labels written as words.
SENTIMENTS = {
    2: ("negative", "positive"),
    5: ("very negative", "negative", "neutral", "positive", "very positive"),
}


def _columns(
    texts: Sequence[Column], label: str, labelled: bool | None, *others: Column
) -> list[Column]:
    """Return the columns of a task; `labelled` is None if labels are optional."""
    labels = [Column(label, LABEL, required=bool(labelled), kind="label")]
    return [*texts, *(labels if labelled is not False else []), ID_COLUMN, PHENOMENON, *others]


def read_sst(path: PathLike, labelled: bool | None = True, num_classes: int = 5) -> list[Sentence]:
    """Return the sentences of an SST file, or with num_classes=2 of a CFIMDB file, in order."""
    table = open_table(path, _columns((Column("sentence", TEXT),), "sentiment", labelled))
    words = {word: float(place) for place, word in enumerate(SENTIMENTS.get(num_classes, ()))}
    sentences = []
    for line, row in table.rows():
        where = f"{path}:{line}"
        text = row.get("sentiment")
        label = None if text is None else _number_of(where, "sentiment", text, words)
        if text is not None and (label is None or label not in range(num_classes)):
            raise DataError(
                f"{where}: sentiment is {text[:40]!r}, expected an integer from "
                f"0 to {num_classes - 1}; correct the row"
            )
        sentences.append(
            Sentence(
                _row_id(where, row, line),
                row["sentence"].strip(),
                None if label is None else int(label),
                row.get("phenomenon") or None,
            )
        )
    return sentences


def read_quora(path: PathLike, labelled: bool | None = True) -> list[SentencePair]:
    """Return the question pairs of a Quora file in order; label 1.0 marks duplicates.

    The course's code silently skips rows that do not parse (a missing field, an empty or
    non-numeric label). The same rows are dropped here, for equal scores, but with a warning; words
    such as yes and no are labels.

    Raises:
        DataError: the table is broken, a label is a number other than 0 or 1, or no row is left.
    """
    table = open_table(path, _columns(pair_columns(), "is_duplicate", labelled))
    needed = {"sentence1", "sentence2", "id", "is_duplicate"} & set(table.places)
    pairs: list[SentencePair] = []
    dropped: list[int] = []  # line numbers
    for line, row in table.rows(ragged=True):
        where, label = f"{path}:{line}", None
        is_whole = needed <= set(row)
        if is_whole and "is_duplicate" in needed:
            label = _number_of(where, "is_duplicate", row["is_duplicate"], {})
            if label is None and (answer := says_yes(row["is_duplicate"])) is not None:
                label = float(answer)
            is_whole = label is not None
        if not is_whole:
            dropped.append(line)
        elif label in (None, 0.0, 1.0):
            pairs.append(_sentence_pair(where, row, line, label))
        else:
            raise DataError(
                f"{path}:{line}: is_duplicate is {label:g}, expected 0 or 1; correct the row"
            )
    if dropped:
        count = f"{len(dropped)} of {len(pairs) + len(dropped)} rows do not parse"
        problem = f"{count} (first: line {dropped[0]})"
        if not pairs:
            raise DataError(f"{path}:{dropped[0]}: {problem}; expected id, two sentences, 0 or 1")
        logger.warning("%s: %s; dropped, as in CS224N's code", path, problem)
    return pairs


def read_sts(path: PathLike, labelled: bool | None = True) -> list[SentencePair]:
    """Return the pairs of an STS file in order; labels are similarities from 0 to 5.

    The file is a reshuffle of STS-Benchmark whose unnamed first column keeps the official row
    (0-5748 train, 5749-7248 dev, 7249-8627 test). It becomes the pair's `row`.
    """
    pairs = []
    table = open_table(path, _columns(pair_columns(), "similarity", labelled, OFFICIAL_ROW))
    wrong: tuple[int, str] | None = None  # the first label that is not on the scale
    values: list[float] = []
    for line, row in table.rows():
        where, label = f"{path}:{line}", None
        if "similarity" in row:
            label = _number_of(where, "similarity", row["similarity"], {})
            if label is None:
                score(where, row["similarity"], "similarity")  # raises
            values.append(label or 0.0)
            if wrong is None and not 0 <= values[-1] <= 5:
                wrong = line, row["similarity"]
        official = number(row.get(""))
        place = int(official) if official is not None and official.is_integer() else None
        pairs.append(_sentence_pair(where, row, line, label, place))
    if wrong:
        raise DataError(
            f"{path}:{wrong[0]}: similarity is {wrong[1][:40]!r}, expected a number from 0 to 5; "
            f"the file's go from {min(values):g} to {max(values):g}: rescale them, or correct the "
            "row"
        )
    return pairs


def _number_of(where: str, column: str, text: str, words: Mapping[str, float]) -> float | None:
    """Return the number of a label, which may be a word; None for other text."""
    value = number(text)
    if value is not None:
        return value
    if DECIMAL_COMMA.fullmatch(text.strip()):
        point = text.strip().replace(",", ".")
        raise DataError(
            f"{where}: {column} is {text.strip()!r}, with a decimal comma; write {point}"
        )
    return words.get(re.sub(r"[\s_-]+", " ", text.strip().casefold()))


def official_dev(pairs: Sequence[SentencePair]) -> list[SentencePair]:
    """Return the pairs that belong to the official STS-Benchmark dev set.

    SimCSE checkpoints are selected on the official-dev rows inside CS224N's *train* file, so
    selection never uses pairs that are scored later.

    A first column that only numbers the rows of this file, as written by pandas, does not hold
    official rows.
    """
    if [pair.row for pair in pairs] == list(range(len(pairs))):
        return []
    return [pair for pair in pairs if pair.row in OFFICIAL_DEV_ROWS]


def _sentence_pair(
    where: str,
    row: Mapping[str, str],
    line: int,
    label: float | None,
    official_row: int | None = None,
) -> SentencePair:
    text_a, text_b = row["sentence1"].strip(), row["sentence2"].strip()
    phenomenon = row.get("phenomenon") or None
    return SentencePair(_row_id(where, row, line), text_a, text_b, label, official_row, phenomenon)


def _row_id(where: str, row: Mapping[str, str], line: int) -> str:
    """Return the id of a row in lower case, as in the course's code; else the line number."""
    id = row.get("id", str(line)).strip().lower()
    if "," in id or "\t" in id or len(id.splitlines()) > 1:
        raise DataError(
            f"{where}: id {id[:40]!r} holds a comma, a tab or a line end, which would separate "
            "predictions; change it"
        )
    return id


# --- the tasks


OF_FILE = ("about", "texts", "label", "lowest", "largest", "words")


@dataclass(frozen=True)
class Task:
    """The record of a task; a new task needs one record and one reader.

    Attributes:
        name: as on the command line.
        about: a short description.
        files: CS224N's names of the train, dev and test file, which this project also writes.
        texts: the columns with the texts, one or two.
        label: the column with the label.
        label_kind: "classes", "binary" (0 or 1), "score" (a real number) or "ranking".
        largest: labels go from `lowest` to this.
        metrics: those of "accuracy", "f1", "pearson" and "spearman" that apply, the main one first.
        prediction_header: of prediction files, with the course's spelling.
        read: the reader, (path, labelled=True) -> list of examples; with None, labels are
            optional.
        lowest: the smallest label.
        words: a file's words for the labels 0, 1, ..., in order; () for scores, and for the
            course's tasks.
        elsewhere: prefixes of the names of data and prediction files in other courses.
    """

    name: str
    about: str
    files: tuple[str, str, str]
    texts: tuple[str, ...]
    label: str
    label_kind: str
    largest: float
    metrics: tuple[str, ...]
    prediction_header: str
    read: Callable[..., list[Any]]
    lowest: float = 0
    words: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    @property
    def namings(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the train, dev and test file in each course, CS224N's first."""
        endings = ("train", "dev", "test-student")
        return self.files, *(tuple(f"{w}-{end}.csv" for end in endings) for w in self.elsewhere)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of texts and label, by all usual names; the label is the last."""
        is_pair = len(self.texts) == 2
        texts = pair_columns(*self.texts) if is_pair else (Column(self.texts[0], TEXT),)
        return *texts, Column(self.label, LABEL, kind="label")

    @property
    def main_metric(self) -> str:
        """Return the metric for checkpoint selection and comparisons."""
        return self.metrics[0]

    @property
    def num_texts(self) -> int:
        return len(self.texts)

    @property
    def is_pair(self) -> bool:
        return self.num_texts == 2

    @property
    def num_classes(self) -> int:
        """Return the number of classes; for scores, the number of whole scores."""
        return int(self.largest) + 1

    @property
    def of_file(self) -> dict[str, Any]:
        """Return the properties that differ between files: names of columns, scale and words."""
        return {name: getattr(self, name) for name in OF_FILE}

    def spelled(self, prediction: float) -> str:
        """Return a class, or 0 or 1, in the file's spelling."""
        return self.words[int(prediction)] if self.words else str(int(prediction))


def _no_reader(path: PathLike, labelled: bool = True) -> list[Any]:
    raise DataError(f"{path}: expected a course file; read a table with --pairs {path}")


# `elsewhere` has the words of the course in Göttingen, whose tables are comma-separated.
_COURSE = (
    Task(
        name="sst",
        about="sentiment in 5 classes",
        files=("ids-sst-train.csv", "ids-sst-dev.csv", "ids-sst-test-student.csv"),
        texts=("sentence",),
        label="sentiment",
        label_kind="classes",
        largest=4,
        metrics=("accuracy", "f1"),
        prediction_header="Predicted_Sentiment",
        read=read_sst,
        elsewhere=("sst-sentiment",),
    ),
    Task(
        name="para",
        about="paraphrase yes/no",
        files=("quora-train.csv", "quora-dev.csv", "quora-test-student.csv"),
        texts=("sentence1", "sentence2"),
        label="is_duplicate",
        label_kind="binary",
        largest=1,
        metrics=("accuracy", "f1"),
        prediction_header="Predicted_Is_Paraphrase",
        read=read_quora,
        elsewhere=("quora-paraphrase",),
    ),
    Task(
        name="sts",
        about="similarity 0-5",
        files=("sts-train.csv", "sts-dev.csv", "sts-test-student.csv"),
        texts=("sentence1", "sentence2"),
        label="similarity",
        label_kind="score",
        largest=5,
        metrics=("pearson", "spearman"),
        prediction_header="Predicted_Similiary",
        read=read_sts,
        elsewhere=("sts-similarity",),
    ),
)
# For other files: `data.pairs` puts names, scale and words of a file into the record.
_OWN = (
    Task(
        name="paraphrase",
        about="your pairs",
        files=("", "", ""),
        texts=("sentence1", "sentence2"),
        label="label",
        label_kind="binary",
        largest=1,
        metrics=("accuracy", "f1"),
        prediction_header="label",
        read=_no_reader,
    ),
    Task(
        name="similarity",
        about="your pairs",
        files=("", "", ""),
        texts=("sentence1", "sentence2"),
        label="label",
        label_kind="score",
        largest=1,
        metrics=("pearson", "spearman"),
        prediction_header="label",
        read=_no_reader,
    ),
    Task(
        name="classes",
        about="your texts",
        files=("", "", ""),
        texts=("sentence1", "sentence2"),  # a file may have single texts
        label="label",
        label_kind="classes",
        largest=19,  # the most; a file may have fewer classes
        metrics=("accuracy", "f1"),
        prediction_header="label",
        read=_no_reader,
    ),
    Task(
        name="search",
        about="texts that answer queries",
        files=("", "", ""),
        texts=("query", "text"),
        label="relevant",
        label_kind="ranking",
        largest=1,
        metrics=RANKING,
        prediction_header="",
        read=_no_reader,
    ),
)
COURSE: dict[str, Task] = {task.name: task for task in _COURSE}
OWN: dict[str, Task] = {task.name: task for task in _OWN}
TASKS: dict[str, Task] = COURSE | OWN


@dataclass(frozen=True, slots=True)
class Splits:
    """The three parts of a task: lists of Sentence (sst) or of SentencePair (para, sts).

    `task` is the record with names, scale and words of their file; None: that of TASKS.
    A table in folds has all rows in `train`. Each of its `folds` has a part of them as test rows
    and the others as train rows; no text is in both. In a search the parts are lists of Query, and
    `corpus` has the texts that all of them search.
    """

    train: list[Any]
    dev: list[Any]
    test: list[Any]
    task: Task | None = None
    folds: tuple["Splits", ...] = ()
    corpus: tuple[Document, ...] = ()

    @property
    def all(self) -> list[Any]:
        """Return the rows of a table in folds, all of which are scored; [] without folds."""
        return self.train if self.folds else []

    @property
    def digest(self) -> str:
        """Return the SHA-256 of all rows, and of the names, scale and words of their file."""
        rows: list[Any] = [asdict(row) for row in (*self.train, *self.dev, *self.test)]
        rows += [asdict(document) for document in self.corpus]
        rows += [fold.digest for fold in self.folds]
        return digest(rows if self.task is None else [*rows, self.task.of_file])


def read_task(folder: PathLike, name: str) -> Splits:
    """Return train, dev and test of a task of COURSE from a folder of its files.

    The test part is [] if its file is missing; its labels are read if it has any.
    A file named `-test.csv` replaces a missing `-test-student.csv`.
    """
    if name not in COURSE:
        raise DataError(f"task {name!r} is unknown; choose one of {', '.join(COURSE)}")
    task = COURSE[name]
    train, dev, test = (split_file(folder, task, split) for split in SPLITS)
    if missing := " and ".join(file.name for file in (train, dev) if not file.exists()):
        problem = "not found" if Path(folder).is_dir() else "there is no such folder"
        for below in sorted(Path(folder).glob("*/")):  # such as `data` in a repository
            if lexists(split_file(below, task, "train")):
                raise DataError(
                    f"looked for {missing} in {Path(folder)}: files of {name} are in {below}; give "
                    "that folder"
                )
        raise DataError(
            f"looked for {missing} in {Path(folder)}: {problem}; rename the files, or give a "
            "table of any name with --pairs FILE (the course's data: --data cs224n)"
        )
    scored: list[Any] = []
    if lexists(test):  # the reader reports a broken link, which is not a missing file
        scored = task.read(test, labelled=None if _has_labels(test, task) else False)
    splits = Splits(task.read(train), task.read(dev), scored)
    for path, examples in ((dev, splits.dev), (test, splits.test)):
        _refuse_repeated_ids(path, examples)
    _note_equal_labels(task, dev, splits.dev)
    if task.label_kind == "score":
        _note_scales(train, dev, splits)
    return splits


def _has_labels(path: Path, task: Task) -> bool:
    """Return whether a row of a test file has a label; in some files all are empty or -1."""
    columns = (*task.columns[:-1], replace(task.columns[-1], required=False))
    try:
        table = open_table(path, columns)
        for _, row in table.rows(ragged=True):
            if row.get(task.label, "").strip().casefold() not in {*NO_LABEL, UNKNOWN}:
                return True
    except DataError:  # the reader of the task reports the error
        return True
    if task.label in table.places:
        logger.warning("%s: no row has a label; read as a file without labels", path)
    return False


def _refuse_repeated_ids(path: Path, examples: Sequence[Any]) -> None:
    """Refuse rows with equal ids, since predictions are written by id."""
    ids = [example.id for example in examples]
    if len(set(ids)) == len(ids):
        return
    lines: dict[str, int] = {}
    for line, row in open_table(path, [replace(ID_COLUMN, required=True)]).rows(ragged=True):
        id = row.get("id", "").strip().lower()
        if id in lines:
            raise DataError(
                f"{path}:{line}: id {id!r} is on line {lines[id]} too, and predictions are "
                "written by id; give each row a unique id"
            )
        lines[id] = line


def _note_equal_labels(task: Task, dev: Path, examples: Sequence[Any]) -> None:
    """Warn if all labels are equal, so that metrics are meaningless."""
    labels = {example.label for example in examples}
    if len(labels) == 1 and len(examples) > 1:
        undefined = (
            "Pearson and Spearman are undefined"
            if task.label_kind == "score"
            else ("a constant prediction is perfect")
        )
        logger.warning(
            "%s: all %d labels are %g, so %s; check the column %s",
            dev,
            len(examples),
            labels.pop(),
            undefined,
            task.label,
        )


def _note_scales(train: Path, dev: Path, splits: Splits) -> None:
    """Warn if labels use a scale from 0 to 1, in one or both files."""
    largest = {
        path: max(pair.label for pair in pairs)
        for path, pairs in ((train, splits.train), (dev, splits.dev))
        if pairs
    }
    small = [path for path, label in largest.items() if 0 < label <= 1]
    if not small:
        return
    if len(small) == len(largest):
        logger.warning(
            "%s: similarities go up to %g, as on a scale from 0 to 1; heads predict 0 to 5, so "
            "multiply them by 5",
            train,
            largest[train],
        )
        return
    both = " and ".join(f"{path.name} up to {label:g}" for path, label in largest.items())
    logger.warning("%s: similarities on two scales (%s); write both from 0 to 5", small[0], both)


def tasks_in(folder: PathLike) -> tuple[str, ...]:
    """Return the tasks of the course whose training file is in a folder."""
    return tuple(
        name for name, task in COURSE.items() if split_file(folder, task, "train").exists()
    )


def split_file(folder: PathLike, task: Task, split: str) -> Path:
    """Return the path of the train, dev or test file, which may not exist.

    All three have the names of one course: the one with the most existing files, else the first.
    A file named `-test.csv` replaces a missing `-test-student.csv`.
    """
    choices = [_choices(folder, naming) for naming in task.namings]
    best = max(choices, key=lambda files: sum(any(map(lexists, paths)) for paths in files))
    paths = best[SPLITS.index(split)]
    return next(filter(lexists, paths), paths[0])


def files_in_doubt(folder: PathLike, task: Task) -> str:
    """Return a note on the files that are read and those that are not, "" without a choice.

    A folder may have files of several courses, or both `-test.csv` and `-test-student.csv`.
    """
    used = [path for split in SPLITS if lexists(path := split_file(folder, task, split))]
    there = [
        path
        for naming in task.namings
        for of_split in _choices(folder, naming)
        for path in of_split
        if lexists(path)
    ]
    unused = [path.name for path in there if path not in used]
    reads = ", ".join(path.name for path in used)
    return f"reads {reads}; there too, and not read: {', '.join(unused)}" if unused else ""


def _choices(folder: PathLike, naming: Sequence[str]) -> list[list[Path]]:
    """Return the possible file names of train, dev and test for a course, the best first."""
    names = [dict.fromkeys([name, name.replace("-test-student", "-test")]) for name in naming]
    return [[stored(Path(folder) / name) for name in of_split] for of_split in names]
