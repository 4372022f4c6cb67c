"""Data and submissions made by hand, for the tests of what students submit."""

from pathlib import Path

import numpy as np

from assignment.submission.dialects import ASKED, DIALECTS
from data.tasks import SPLITS

SIZES = {"dev": 40, "test": 60}
TASKS = ("sst", "para", "sts")


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
            for k, (id, gold) in enumerate(
                zip(ids_of(task.name, split), gold_of(task.name, split), strict=True)
            ):
                texts = [sentence(task.name, word, k, split) for word in task.texts]
                lines.append("\t".join([str(k), id, *texts, *[f"{gold:g}"] * len(label)]))
            path = folder / task.files[SPLITS.index(split)]
            path.write_text("\n".join(lines) + "\n")
    return folder


def predictions(task, split, skill=0.7, seed=0) -> list[float]:
    """Return predictions that are right, or near, the more often the greater the skill."""
    gold, draw = gold_of(task, split), np.random.default_rng(seed)
    if task == "sts":
        return np.clip(gold + draw.normal(0, 3 * (1 - skill), len(gold)), 0, 5).tolist()
    wrong = (gold + 1) % ASKED[task].num_classes
    return np.where(draw.random(len(gold)) < skill, gold, wrong).tolist()


def text_of(task, split, dialect="code", values=None) -> str:
    """Return a file of predictions."""
    values = predictions(task, split) if values is None else values
    rows = zip(ids_of(task, split), values, strict=True)
    return DIALECTS[dialect].text(ASKED[task], rows)


def write_submission(folder: Path, dialect="code", tasks=TASKS, skill=0.7, seed=0) -> Path:
    """Write the dev and test files of all tasks into a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        for split in SIZES:
            text = text_of(task, split, dialect, predictions(task, split, skill, seed))
            (folder / DIALECTS[dialect].file_name(task, split)).write_text(text)
    return folder
