"""`python -m assignment package RUN --out FILE.zip`: what a course's leaderboard collects.

The zip has the files in a folder `predictions`, as CS224N's prepare_submit.py packs them. Entries
are in order, without times and not compressed: equal predictions give equal bytes on any machine.
Reads: run folders, checking. Feeds: the user.
"""

import zipfile
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from assignment.submission.checking import Checked, check, one_per_task
from assignment.submission.dialects import ASKED, BARS, DIALECTS, SPLITS
from assignment.submission.gold import Expected, Gold
from assignment.submission.opening import Document, open_submission
from assignment.submission.options import PackageOptions
from assignment.submission.validate import existing, is_predictions
from data.examples import DataError
from data.fetch.locate import data_folder
from data.tasks import TASKS
from report.cell import Cell
from report.run_folder import RunFolder, predictions_name
from runtime.files import whole_file

Say = Callable[[str], None]
FOLDER = "predictions"


def package(options: PackageOptions, say: Say = print) -> Path:
    """Write the zip that a command line asks for; return where it is.

    Raises:
        DataError: something is missing or wrong; every fault has been printed.
        OSError: the zip cannot be written.
    """
    documents, data = _documents(options, say)
    gold = Gold(existing(data_folder(options.data or data)))
    checked = [check(document, gold) for document in documents]
    wanted = list(product(options.tasks, SPLITS))
    chosen, faults = one_per_task(checked, wanted, str(options.source))
    faults += [fault for one in chosen.values() for fault in one.faults]
    for fault in faults[:20]:
        say(fault)
    if faults:
        raise DataError(f"{options.source}: {len(faults):,} fault(s), told above; nothing written")
    dialect = DIALECTS[options.dialect]
    texts = {}
    for (task, split), one in chosen.items():
        answers = _answers(one, gold.expected(task, split), options.dialect)
        texts[dialect.file_name(task, split)] = dialect.text(ASKED[task], answers)
        for note in one.notes:
            say(f"note: {note}")
    write_zip(options.out, texts)
    say(f"{options.out}: {len(texts)} files, as in {dialect.about}")
    return options.out


def write_zip(path: Path, texts: dict[str, str]) -> None:
    """Write texts by name as files of the zip's folder; the same texts give the same bytes."""
    with whole_file(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, text in sorted(texts.items()):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}")  # of 1980, stored
            entry.create_system = 3  # Unix, wherever this runs
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text.encode("utf-8"))


def best_cells(cells: Sequence[Cell]) -> dict[str, Cell]:
    """Return the cell with the best dev score of each task, the first by name of equal ones."""
    best: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda cell: cell.name):
        score = _dev_score(cell)
        if cell.split == "dev" and score is not None:
            if cell.task not in best or score > (_dev_score(best[cell.task]) or 0.0):
                best[cell.task] = cell
    return best


def _dev_score(cell: Cell) -> float | None:
    return cell.metrics[TASKS[cell.task].main_metric]


def _documents(options: PackageOptions, say: Say) -> tuple[list[Document], str]:
    """Return the files to package, and the data that they are of."""
    source = options.source
    if not (source / "results.json").is_file():
        if options.cells:
            raise DataError(f"{source}: --cells names heads of a run, and this is none's folder")
        return [one for one in open_submission(source) if is_predictions(one)], "bundled"
    found = RunFolder(source, read_only=True).cells()
    cells = [cell for cell in found if cell.task in options.tasks]
    chosen = best_cells(cells)
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
        score = "" if cell.split != "dev" else f", dev {_dev_score(cell) or 0:.3f}"
        say(f"{task:6}  {cell.name}{score}")
        for split in SPLITS:
            path = source / predictions_name(cell.name, task, split)
            documents += open_submission(path) if path.is_file() else []
    return documents, cells[0].data


def _answers(
    one: Checked, expected: Expected | None, dialect: str
) -> list[tuple[str, float | None]]:
    """Return key and value of each row, in the data's order, and then of those that do not count.

    Raises:
        DataError: sentences are to become ids, or ids sentences, and the data is not there.
    """
    by_sentence = BARS in DIALECTS[dialect].row
    if expected is None:
        if one.by_sentence != by_sentence:
            raise DataError(f"{one.document.shown}: needs its data for this dialect; give --data")
        return [(key, answer.value) for (key, _), answer in one.answers.items()]
    keys = expected.by_sentence if by_sentence else expected.by_id
    found = [(key, value) for (key, _), value in zip(keys, one.predictions(expected), strict=True)]
    if by_sentence:
        return found
    rest = [(key, answer.value) for (key, _), answer in one.answers.items()]
    return found + [row for row in rest if row[0] in expected.more]
