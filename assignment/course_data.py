"""The data of an assignment: files for the student, test labels for the instructor.

Reads: a folder with CS224N's files, or the grammar of `data.synthetic`. Feeds: make.
"""

import csv
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from data import synthetic
from data.examples import DataError
from data.locate import find, find_task
from data.table import open_table, plain_name
from data.tasks import ID_COLUMN, OFFICIAL_ROW, TASKS, Task, split_file
from runtime.files import open_file

TASKS_GIVEN = ("sst", "para", "sts")
# What SimCSE is trained on, if it is there.
SENTENCES = ("wiki1m_for_simcse.txt", "nli_for_simcse.csv")


def write_data(source: Path | None, student: Path, gold: Path, seed: int) -> None:
    """Write a student's data, and the labels of the test files, where the source has any.

    Without a source they are synthetic, other than anybody else's.
    """
    if source is None:
        with tempfile.TemporaryDirectory() as drawn:
            synthetic.write(Path(drawn), seed)
            write_data(Path(drawn), student, gold, seed)
        return
    student.mkdir(parents=True, exist_ok=True)
    gold.mkdir(parents=True, exist_ok=True)
    for name, folder in task_folders(source).items():
        _write_task(folder, TASKS[name], student, gold)
    for name in SENTENCES:
        if (path := find(source, name)) is not None:
            _copy(path, student / name)


def task_folders(source: Path) -> dict[str, Path]:
    """Return the folder of each task's files, by the task's name."""
    folders = {}
    for name in TASKS_GIVEN:
        task = TASKS[name]
        folder = find_task(source, task)
        if folder is None:
            raise DataError(f"{name}: looked for {task.files[0]} in {source}: not found")
        if not (dev := split_file(folder, task, "dev")).is_file():
            raise DataError(f"{dev}: missing; the task's training file is there")
        folders[name] = folder
    return folders


def _write_task(folder: Path, task: Task, student: Path, gold: Path) -> None:
    for split in ("train", "dev"):
        path = split_file(folder, task, split)
        _copy(path, student / plain_name(path))
    test = split_file(folder, task, "test")
    if test.is_file():
        *texts, label = task.columns
        table = open_table(test, (*texts, replace(label, required=False), ID_COLUMN, OFFICIAL_ROW))
        name = plain_name(test).replace("-test.csv", "-test-student.csv")
        if label.name in table.places:
            _copy(test, gold / name)
        # Number, id and texts alone: other columns tell the label, or what it depends on.
        kept = [n for n in (OFFICIAL_ROW.name, "id", *task.texts) if n in table.places]
        with (student / name).open("w", encoding="utf-8", newline="") as file:
            # As the file itself where it is a course's, which has tabs or commas.
            mark = table.delimiter if table.delimiter in ("\t", ",") else "\t"
            writer = csv.writer(file, delimiter=mark, lineterminator="\n")
            writer.writerow(kept)
            writer.writerows([row.get(column, "") for column in kept] for _, row in table.rows())


def _copy(source: Path, target: Path) -> None:
    with open_file(source) as file, target.open("wb") as copy:
        shutil.copyfileobj(file, copy)
