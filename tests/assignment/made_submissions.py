"""Data, submissions and runs made by hand, for the tests of what students submit."""

import csv
import zipfile
from pathlib import Path

import numpy as np

from assignment.submission.reader import ASKED
from data.tasks import COURSE, SPLITS
from evaluation.metrics import task_metrics
from report.cell import Cell
from report.run_folder import RunFolder

SIZES = {"dev": 40, "test": 60}
TASKS = ("sst", "para", "sts")
# How each course spells the name of a file, its header and its rows.
SPELLINGS = {
    "code": ("{task}-{split}-output.csv", "id \t {column} \n", "{id} , {value} \n"),
    "handout": ("{task}-{split}-out.csv", "id, {column}\n", "{id}, {value}\n"),
    "tabs": ("{task}-{split}-out.csv", "id\t{column}\n", "{id}\t{value}\n"),
    "goettingen": ("{word}-{split}-output.csv", "id,{column}\n", "{id}\t{value}\n"),
}
WORDS = {"sst": "sst-sentiment", "para": "quora-paraphrase", "sts": "sts-similarity"}
MINE = "predictions/bert"  # where Göttingen's code writes them
TYPES = "etpc-paraphrase-detection-test-output.csv"
COLUMNS = {
    "sst": "Predicted_Sentiment",
    "cfimdb": "Predicted_Sentiment",
    "para": "Predicted_Is_Paraphrase",
    "sts": "Predicted_Similarity",
}


def ids_of(task, split) -> list[str]:
    return [f"{task}{split}{k:03d}" for k in range(SIZES[split])]


def sentence(task, word, k, split) -> str:
    return f"The {word} No. {k}, {task} {split}"


def gold_of(task, split) -> np.ndarray:
    """Return labels (N,) in which all classes occur."""
    draw = np.random.default_rng([len(task), len(split)])
    return draw.integers(0, ASKED[task].largest + 1, SIZES[split]).astype(float)


def write_data(folder: Path, tasks=TASKS, labelled=("dev", "test")) -> Path:
    """Write the tasks' dev and test files in CS224N's format; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in map(ASKED.__getitem__, tasks):
        for split in SIZES:
            label = [task.label] if split in labelled else []
            lines = ["\t".join(["", "id", *task.texts, *label])]
            rows = zip(ids_of(task.name, split), gold_of(task.name, split), strict=True)
            for k, (id, gold) in enumerate(rows):
                texts = [sentence(task.name, word, k, split) for word in task.texts]
                lines.append("\t".join([str(k), id, *texts, *[f"{gold:g}"] * len(label)]))
            path = folder / task.files[SPLITS.index(split)]
            path.write_text("\n".join(lines) + "\n")
    return folder


def course_repository(folder: Path) -> Path:
    """Write data and predictions as a repository of the course in Göttingen has them; return it.

    The labels of the test files are kept back; a joint model has predicted everything once more.
    """
    (folder / "data").mkdir(parents=True)
    for task in map(ASKED.__getitem__, TASKS):
        for split in SIZES:
            ending, width = ("dev", 2) if split == "dev" else ("test-student", 1)
            path = folder / "data" / f"{WORDS[task.name]}-{ending}.csv"
            with path.open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(["id", *task.texts, task.label][: width + len(task.texts)])
                rows = zip(ids_of(task.name, split), gold_of(task.name, split), strict=True)
                for k, (id, gold) in enumerate(rows):
                    texts = [sentence(task.name, word, k, split) for word in task.texts]
                    writer.writerow([id, *texts, f"{gold:g}"][: width + len(task.texts)])
    write_submission(folder / MINE, "goettingen")
    write_submission(folder / MINE / "multitask", "goettingen", skill=0.5)
    for place in (MINE, "predictions/bart"):
        (folder / place).mkdir(exist_ok=True)
        types = "id,Predicted_Paraphrase_Types\nx1\t[0, 1, 1]\n"
        (folder / place / TYPES).write_text(types)
    (folder / "predictions" / "README.md").write_text("Predictions go here.\n")
    return folder


def predictions(task, split, skill=0.7, seed=0) -> list[float]:
    """Return predictions that are right, or near, the more often the greater the skill."""
    gold, draw = gold_of(task, split), np.random.default_rng(seed)
    if task == "sts":
        return np.clip(gold + draw.normal(0, 3 * (1 - skill), len(gold)), 0, 5).tolist()
    wrong = (gold + 1) % ASKED[task].num_classes
    return np.where(draw.random(len(gold)) < skill, gold, wrong).tolist()


def name_of(task, split, spelling="code") -> str:
    """Return the name of a file of predictions."""
    return SPELLINGS[spelling][0].format(task=task, word=WORDS.get(task, task), split=split)


def text_of(task, split, spelling="code", values=None, ids=None) -> str:
    """Return a file of predictions; None is no answer."""
    _, header, row = SPELLINGS[spelling]
    column = "Predicted_Similiary" if (task, spelling) == ("sts", "code") else COLUMNS[task]
    kind = float if task == "sts" or (task, spelling) == ("para", "code") else int
    values = predictions(task, split) if values is None else values
    rows = [
        row.format(id=id, value="" if value is None else kind(value))
        for id, value in zip(ids or ids_of(task, split), values, strict=True)
    ]
    return "".join([header.format(column=column), *rows])


def write_submission(folder: Path, spelling="code", tasks=TASKS, skill=0.7, seed=0) -> Path:
    """Write the dev and test files of all tasks into a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        for split in SIZES:
            text = text_of(task, split, spelling, predictions(task, split, skill, seed))
            (folder / name_of(task, split, spelling)).write_text(text)
    return folder


def zipped(folder: Path, path: Path) -> Path:
    """Pack the files of a folder into a zip; return it."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"predictions/{file.name}")
    return path


def made_run(path: Path) -> Path:
    """Write a run with a head for each task."""
    run, cells = RunFolder(path), []
    for task in TASKS:
        values = {split: np.array(predictions(task, split)) for split in SIZES}
        metrics = task_metrics(task, values["dev"], gold_of(task, "dev"))
        place = ("sup", task, "bi", "frozen", "concat", "b", "data", 0, "dev", 40)
        seen = {"sentences": 0.0, "metrics_on_rest": {}}
        cells.append(Cell(*place, metrics, 1.0, 1.0, task, seen))
        for split in SIZES:
            ids = ids_of(task, split)
            run.write_predictions(cells[-1].name, COURSE[task], split, ids, values[split])
    run.write_results(cells)
    return path


def working_folder(tmp_path, monkeypatch) -> Path:
    """Go to an empty folder but for `data`: all tasks' dev and test rows, with labels."""
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data", (*TASKS, "cfimdb"))
    return tmp_path
