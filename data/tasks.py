"""The three tasks: each is one record, which holds all that the project knows about the task.

Reads: data.readers. Feeds: data.synthetic, heads, evaluation, report, and the command lines.
"""

from collections.abc import Callable
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.readers.quora import read_quora
from data.readers.sst import read_sst
from data.readers.sts import read_sts
from data.readers.tables import PathLike, read_header, stored

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Task:
    """All that the rest of the project asks about a task; a new one is one record and one reader.

    Attributes:
        name: as on the command line.
        about: a short description.
        files: the names of the train, dev and test file.
        texts: the columns with the texts, one or two.
        label: the column with the label.
        kind: "classes", "binary" (0 or 1) or "score" (a real number).
        largest: labels go from 0 to this.
        metrics: those that apply, of "accuracy", "f1", "pearson" and "spearman".
        main_metric: what checkpoints are selected by and comparisons are made in.
        prediction_header: of CS224N's prediction files, their spelling included.
        whole_predictions: whether those files hold integers; floats otherwise.
        read: the reader, (path, labelled=True) -> list of examples.
    """

    name: str
    about: str
    files: tuple[str, str, str]
    texts: tuple[str, ...]
    label: str
    kind: str
    largest: int
    metrics: tuple[str, ...]
    main_metric: str
    prediction_header: str
    whole_predictions: bool
    read: Callable[..., list[Any]]

    @property
    def num_texts(self) -> int:
        """Return how many texts an example has, 1 or 2."""
        return len(self.texts)

    @property
    def is_pair(self) -> bool:
        """Return whether an example has two texts."""
        return self.num_texts == 2

    @property
    def num_classes(self) -> int:
        """Return the number of classes; for scores, the number of whole scores."""
        return self.largest + 1


_RECORDS = (
    Task(
        name="sst",
        about="sentiment in 5 classes",
        files=("ids-sst-train.csv", "ids-sst-dev.csv", "ids-sst-test-student.csv"),
        texts=("sentence",),
        label="sentiment",
        kind="classes",
        largest=4,
        metrics=("accuracy", "f1"),
        main_metric="accuracy",
        prediction_header="Predicted_Sentiment",
        whole_predictions=True,
        read=read_sst,
    ),
    Task(
        name="para",
        about="paraphrase yes/no",
        files=("quora-train.csv", "quora-dev.csv", "quora-test-student.csv"),
        texts=("sentence1", "sentence2"),
        label="is_duplicate",
        kind="binary",
        largest=1,
        metrics=("accuracy", "f1"),
        main_metric="accuracy",
        prediction_header="Predicted_Is_Paraphrase",
        whole_predictions=False,
        read=read_quora,
    ),
    Task(
        name="sts",
        about="similarity 0-5",
        files=("sts-train.csv", "sts-dev.csv", "sts-test-student.csv"),
        texts=("sentence1", "sentence2"),
        label="similarity",
        kind="score",
        largest=5,
        metrics=("pearson", "spearman"),
        main_metric="pearson",
        prediction_header="Predicted_Similiary",
        whole_predictions=False,
        read=read_sts,
    ),
)
TASKS: dict[str, Task] = {task.name: task for task in _RECORDS}


@dataclass(frozen=True, slots=True)
class Splits:
    """The three parts of a task: lists of Sentence (sst) or of SentencePair (para, sts)."""

    train: list[Any]
    dev: list[Any]
    test: list[Any]


def read_task(folder: PathLike, name: str) -> Splits:
    """Return train, dev and test of a task of TASKS from a folder of its files.

    The test part is [] if its file is absent; its labels are read if it has their column.
    A file named `-test.csv` stands in for an absent `-test-student.csv`.

    Raises:
        DataError: an unknown task, a missing folder, a missing train or dev file, a broken file.
    """
    if name not in TASKS:
        raise DataError(f"task {name!r} is unknown; choose one of {', '.join(TASKS)}")
    task = TASKS[name]
    train, dev, test = (split_file(folder, task, split) for split in SPLITS)
    _check_present(Path(folder), [train, dev])
    return Splits(task.read(train), task.read(dev), _read_test(test, task))


def split_file(folder: PathLike, task: Task, split: str) -> Path:
    """Return the file of train, dev or test; `-test.csv` for an absent `-test-student.csv`."""
    path = stored(Path(folder) / task.files[SPLITS.index(split)])
    if split == "test" and not lexists(path):
        return stored(path.with_name(path.name.replace("-test-student", "-test")))
    return path


def _read_test(path: Path, task: Task) -> list[Any]:
    if not lexists(path):  # a link to nothing is an error of the reader's, not an absent file
        return []
    return task.read(path, labelled=task.label in read_header(path, "\t"))


def _check_present(folder: Path, files: list[Path]) -> None:
    missing = " and ".join(file.name for file in files if not file.exists())
    if missing:
        problem = "not found" if folder.is_dir() else "there is no such folder"
        raise DataError(
            f"looked for {missing} in {folder}: {problem}; "
            f"download with: python -m data.download cs224n --out {folder}"
        )
