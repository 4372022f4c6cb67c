"""`python -m assignment validate PATH --data DIR`: everything wrong with a submission at once.

Every fault has its file, its line and what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from assignment.submission.opening import open_submission
from assignment.submission.reader import (
    ASKED,
    CODES,
    CS224N,
    DATA,
    SPLITS,
    Gold,
    check,
    is_predictions,
    one_per_task,
    passed_over,
)
from data.examples import DataError
from runtime.options import option, parse

MOST_SHOWN = 20  # faults of a file


@dataclass(frozen=True)
class ValidateOptions:
    """`python -m assignment validate`."""

    path: Path = option(help="a file, folder or zip of predictions", flag="path", metavar="PATH")
    data: str = option("bundled", DATA, metavar="DIR")
    tasks: tuple[str, ...] = option(
        CS224N, "required tasks, with dev and test predictions", choices=tuple(ASKED)
    )


def main(argv: Sequence[str]) -> None:
    """Print what was found of each file, and each fault.

    Raises:
        DataError: there is a fault; all of them have been printed.
    """
    options = parse(
        ValidateOptions,
        argv,
        prog="python -m assignment validate",
        description="""\
Check the format of a submission's predictions: file names, headers, rows, ids and values.
Every error has its file, its line and a remedy. Reads files of CS224N's minBERT project
(2023-24), of its GPT-2 project (para and sst), and of the course in Göttingen.""",
        epilog=f"""\
examples:
  all files of CS224N's second half; and the two tasks of its first half:
    python -m assignment validate predictions --data downloads/cs224n
    python -m assignment validate first.zip --data downloads/cs224n --tasks sst cfimdb
  the course in Göttingen, a repository next to this project:
    python -m assignment validate ../course/predictions --data ../course/data

An empty value is no answer, which the course allows. {CODES}""",
    )
    path = options.path
    if (path / "results.json").is_file():
        copy = f"cp {path}/predictions/HEAD/*.csv FOLDER"
        raise DataError(f"{path}: a run; copy one head's files per task first: {copy}")
    gold = Gold(options.data)
    documents = open_submission(path)
    single = not path.is_dir() and path.suffix.lower() != ".zip"
    checked = [check(file, gold) for file in documents if single or is_predictions(file)]
    missing: list[str] = []
    if not single:
        missing = one_per_task(checked, product(options.tasks, SPLITS), str(path), gold)[1]
        if note := passed_over(documents):
            print(f"note: {note}")
    for file in checked:
        shown = file.document.shown
        if file.task and file.split:
            print(f"{shown}: {len(file.answers):,} rows of {file.task} {file.split}")
        for line in [*(f"note: {note}" for note in file.notes), *file.faults[:MOST_SHOWN]]:
            print(line)
        if len(file.faults) > MOST_SHOWN:
            print(f"{shown}: ... and {len(file.faults) - MOST_SHOWN:,} more faults")
    for line in missing:
        print(line)
    if faults := len(missing) + sum(len(file.faults) for file in checked):
        raise DataError(f"{path}: {faults:,} fault(s), listed above; correct them")
    print(f"{path}: valid for the course")
