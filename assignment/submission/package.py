"""`python -m assignment package RUN --out FILE.zip`: what a course's leaderboard collects.

The zip has the files in a folder `predictions`, as CS224N's prepare_submit.py packs them. Entries
are in order, without times and not compressed: equal predictions give equal bytes on any machine.
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from assignment.submission.dialects import ASKED, CS224N, DIALECTS, SPLITS, is_predictions
from assignment.submission.opening import Document, open_submission
from assignment.submission.validate import (
    CODES,
    DATA,
    Checked,
    Expected,
    Gold,
    check,
    one_per_task,
)
from data.examples import DataError
from data.tasks import TASKS
from report.cell import Cell
from report.run_folder import RunFolder, predictions_name
from runtime.commands import exit_code
from runtime.files import whole_file
from runtime.options import option, parse

FOLDER = "predictions"


@dataclass(frozen=True)
class PackageOptions:
    """`python -m assignment package`."""

    source: Path = option(
        help="a run folder, or a folder of predictions", flag="source", metavar="RUN"
    )
    out: Path = option(help="the zip to write", metavar="FILE.zip", required=True)
    data: str | None = option(
        None, f"{DATA} (default: the run's own; of a folder of predictions: bundled)", metavar="DIR"
    )
    tasks: tuple[str, ...] = option(
        CS224N, "tasks that must be there, dev and test", choices=tuple(ASKED)
    )
    cells: tuple[str, ...] = option((), "heads to take instead of the best", metavar="CELL")
    dialect: str = option("code", "whose names and rows", choices=tuple(DIALECTS))


def main(argv: Sequence[str] | None = None) -> int:
    """Package what a command line names; return the exit code."""
    options = parse(
        PackageOptions,
        argv,
        prog="python -m assignment package",
        description="""\
Write the zip that a course collects: dev and test predictions of each task under the
course's names, checked first. From a run of run_multitask.py, the head with the best dev
score of each task is taken.""",
        epilog=f"""\
examples:
  the best heads of a run:
    python -m assignment package runs/first --out submission.zip
  another head for one of the tasks, and the hand-out's spelling:
    python -m assignment package runs/first --cells sup-sts-bi-frozen-concat-42 \\
        --dialect handout --out submission.zip
  files of any spelling, made into the course's:
    python -m assignment package predictions --data downloads/cs224n --out submission.zip

The same predictions always give the same bytes. {CODES}""",
    )
    return exit_code(lambda: package(options))


def package(options: PackageOptions) -> None:
    """Write the zip that a command line asks for.

    Raises:
        DataError: something is missing or wrong; every fault has been printed.
        OSError: the zip cannot be written.
    """
    documents, data = _documents(options)
    gold = Gold(options.data or data)
    checked = [check(document, gold) for document in documents]
    wanted = product(options.tasks, SPLITS)
    chosen, faults = one_per_task(checked, wanted, str(options.source))
    faults += [fault for one in chosen.values() for fault in one.faults]
    for fault in faults[:20]:
        print(fault)
    if faults:
        raise DataError(f"{options.source}: {len(faults):,} fault(s), told above; nothing written")
    dialect = DIALECTS[options.dialect]
    texts = {}
    for (task, split), one in chosen.items():
        answers = _answers(one, gold.expected(task, split))
        texts[dialect.file_name(task, split)] = dialect.text(ASKED[task], answers)
        for note in one.notes:
            print(f"note: {note}")
    with whole_file(options.out) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, text in sorted(texts.items()):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}")  # of 1980, stored
            entry.create_system = 3  # Unix, wherever this runs
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text.encode("utf-8"))
    print(f"{options.out}: {len(texts)} files, as in {dialect.about}")


def _documents(options: PackageOptions) -> tuple[list[Document], str]:
    """Return the files to package, and the data that they are of."""
    source = options.source
    if not (source / "results.json").is_file():
        if options.cells:
            raise DataError(f"{source}: --cells names heads of a run, and this is none's folder")
        return [one for one in open_submission(source) if is_predictions(one)], "bundled"
    found = RunFolder(source, read_only=True).cells()
    cells = [cell for cell in found if cell.task in options.tasks]
    chosen = _best_cells(cells)
    for name in options.cells:
        named = [cell for cell in cells if cell.name == name]
        if not named:
            known = ", ".join(dict.fromkeys(cell.name for cell in cells))
            raise DataError(f"{source}: no head {name!r}; --cells takes {known}")
        chosen[named[0].task] = named[0]
    documents = []
    for task in options.tasks:
        if task not in chosen:
            raise DataError(f"{source}: no dev score of {task}; name a head (--cells), or --tasks")
        cell = chosen[task]
        on_dev = "" if cell.split != "dev" else f", dev {_main_score(cell) or 0:.3f}"
        print(f"{task:6}  {cell.name}{on_dev}")
        for split in SPLITS:
            path = source / predictions_name(cell.name, task, split)
            documents += open_submission(path) if path.is_file() else []
    return documents, cells[0].data


def _best_cells(cells: Sequence[Cell]) -> dict[str, Cell]:
    """Return the cell with the best dev score of each task, the first by name of equal ones."""
    best: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda cell: cell.name):
        score = _main_score(cell)
        if cell.split == "dev" and score is not None:
            if cell.task not in best or score > (_main_score(best[cell.task]) or 0.0):
                best[cell.task] = cell
    return best


def _main_score(cell: Cell) -> float | None:
    return cell.metrics[TASKS[cell.task].main_metric]


def _answers(one: Checked, expected: Expected | None) -> list[tuple[str, float | None]]:
    """Return id and value of each row, in the data's order, and then of those that do not count."""
    given = [(id, answer.value) for (id, _), answer in one.answers.items()]
    if expected is None:
        return given
    rows = zip(expected.keys, one.predictions(expected), strict=True)
    found = [(id, value) for (id, _), value in rows]
    return found + [row for row in given if row[0] in expected.more]
