"""`python -m assignment validate PATH`: all that is wrong with a submission, before it counts.

Reads: opening, checking. Feeds: the user.
"""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

from assignment.submission.checking import Checked, check, one_per_task
from assignment.submission.dialects import SPLITS
from assignment.submission.gold import Gold
from assignment.submission.opening import Document, open_submission
from assignment.submission.options import ValidateOptions
from data.examples import DataError
from data.fetch.locate import data_folder

Say = Callable[[str], None]
# A file is taken for one of predictions by its name, a nearly right one too, or by its header.
MEANT = re.compile(r"(?=.*(sst|para|quora|sts|cfimdb))(?=.*(dev|test))(?=.*(out|pred))", re.I)
COLUMN = "predicted_"


def validate(options: ValidateOptions, say: Say = print) -> None:
    """Print what was found of each file, and each fault.

    Raises:
        DataError: there is a fault; all of them have been printed.
    """
    if (options.path / "results.json").is_file():
        raise DataError(f"{options.path}: a run; pack it first: python -m assignment package")
    gold = Gold(existing(data_folder(options.data)))
    documents = open_submission(options.path)
    single = not options.path.is_dir() and options.path.suffix.lower() != ".zip"
    checked = [check(one, gold) for one in documents if single or is_predictions(one)]
    missing: list[str] = []
    if not single:
        wanted = product(options.tasks, SPLITS)
        missing = one_per_task(checked, wanted, str(options.path))[1]
    for one in checked:
        _tell(one, options.most, say)
    for line in missing:
        say(line)
    faults = len(missing) + sum(len(one.faults) for one in checked)
    if faults:
        raise DataError(f"{options.path}: {faults:,} fault(s), told above; correct them")
    say(f"{options.path}: as the course asks for it")


def _tell(one: Checked, most: int, say: Say) -> None:
    if one.task and one.split:
        say(f"{one.document.shown}: {len(one.answers):,} rows of {one.task} {one.split}")
    for note in one.notes:
        say(f"note: {note}")
    for fault in one.faults[:most]:
        say(fault)
    if len(one.faults) > most:
        say(f"{one.document.shown}: ... and {len(one.faults) - most:,} more faults (--most N)")


def is_predictions(document: Document) -> bool:
    """Return whether a file is meant as predictions, under a wrong name perhaps."""
    first = document.content.partition(b"\n")[0].decode(errors="replace").lower()
    return MEANT.match(document.name) is not None or COLUMN in first


def existing(folder: Path) -> Path:
    """Return a folder.

    Raises:
        DataError: it is not there.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give the one with the tasks' files")
    return folder
