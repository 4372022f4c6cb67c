"""`python -m assignment package RUN --out FILE.zip`: what a course's leaderboard collects.

The zip has the files in a folder `predictions`, as CS224N's prepare_submit.py packs them. Entries
are in order, without times and not compressed: equal predictions give equal bytes on any machine.
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from assignment.submission.dialects import CS224N, SPLITS
from assignment.submission.opening import Document, open_submission
from assignment.submission.score import decimals
from assignment.submission.validate import CODES, DATA, Gold, check, one_per_task
from data.examples import DataError
from data.tasks import COURSE, TASKS
from report.cell import Cell
from report.run_folder import RunFolder, predictions_name
from runtime.files import check_outputs, whole_file
from runtime.options import option, parse

FOLDER = "predictions"


@dataclass(frozen=True)
class PackageOptions:
    """`python -m assignment package`."""

    run: Path = option(help="a run folder", flag="run", metavar="RUN")
    out: Path = option(help="the zip to write", metavar="FILE.zip", required=True)
    data: str | None = option(None, f"{DATA} (default: the data of the run)", metavar="DIR")
    tasks: tuple[str, ...] = option(
        CS224N, "required tasks, with dev and test predictions", choices=tuple(COURSE)
    )


ABOUT: dict[str, Any] = {
    "prog": "python -m assignment package",
    "description": """\
Write the zip that a course collects: dev and test predictions of each task under the
course's names. They are checked first. For each task, the head with the best dev score is
used.""",
    "epilog": f"""\
example:
  python -m assignment package runs/first --out submission.zip

{CODES}""",
}


def main(argv: Sequence[str]) -> None:
    """Write the zip that a command line asks for.

    Raises:
        DataError: something is missing or wrong; every fault has been printed.
    """
    options = parse(PackageOptions, argv, **ABOUT)
    cells = RunFolder(options.run, read_only=True).cells()
    if not cells:
        raise DataError(f"{options.run}: no results.json in it; give the folder of a run")
    check_outputs([options.out], options.run.rglob("*"))
    documents = _documents(options, [cell for cell in cells if cell.task in options.tasks])
    gold = Gold(options.data or cells[0].data)
    checked = [check(document, gold) for document in documents]
    chosen, faults = one_per_task(checked, product(options.tasks, SPLITS), str(options.run), gold)
    faults += [fault for file in chosen.values() for fault in file.faults]
    for fault in faults[:20]:
        print(fault)
    if faults:
        raise DataError(f"{options.run}: {len(faults):,} fault(s), listed above; nothing written")
    with whole_file(options.out) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for document in sorted(documents, key=lambda document: document.name):
            entry = zipfile.ZipInfo(f"{FOLDER}/{document.name}")  # of 1980, stored
            entry.create_system = 3  # Unix, wherever this runs
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, document.content)
    for note in (note for file in checked for note in file.notes):
        print(f"note: {note}")
    print(f"{options.out}: {len(documents)} files, as in CS224N's starter code")


def _documents(options: PackageOptions, cells: Sequence[Cell]) -> list[Document]:
    """Return the predictions of each task's head, the best on dev."""
    heads: dict[str, Cell] = {}
    scored = [(_main_score(cell), cell) for cell in cells if cell.split == "dev"]
    ranked = [(-score, cell.name, cell) for score, cell in scored if score is not None]
    for _, _, cell in sorted(ranked, key=lambda row: row[:2]):  # of equal scores the first name
        heads.setdefault(cell.task, cell)
    documents = []
    for task in options.tasks:
        if task not in heads:
            raise DataError(f"{options.run}: no dev score of {task}; give --tasks without it")
        head = heads[task]
        print(f"{task:6}  {head.name}, dev {decimals(_main_score(head))}")
        paths = [options.run / predictions_name(head.name, task, split) for split in SPLITS]
        documents += [doc for path in paths if path.is_file() for doc in open_submission(path)]
    return documents


def _main_score(cell: Cell) -> float | None:
    return cell.metrics[TASKS[cell.task].main_metric]
