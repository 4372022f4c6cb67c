"""A finished run made by hand: data, predictions, results, curves; for the tests of its page."""

import json
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np

from data.overlap import Seen
from data.tasks import TASKS, Splits, Task
from evaluation import intervals
from evaluation.scoring import score_split
from report.cell import Cell
from report.judging import judge_cells, to_json
from report.run_folder import RunFolder

EVIL = '<script>document.title="owned"</script>'
TAGS = ("plain", "=2+5", "<b>role</b> swap")
COLUMNS = {"sst": ["sentence"], "para": ["sentence1", "sentence2"], "sts": ["sentence1"]}


def write_data(folder: Path, task: Task, split: str, n: int) -> None:
    """Write a split of a task with texts that try to be markup."""
    draw = np.random.default_rng(n)
    lines = ["\t".join(["", "id", *task.texts, task.label, "phenomenon"])]
    for k in range(n):
        texts = [f"text {k} of {EVIL}" if k % 5 == 0 else f"{word} {k}" for word in task.texts]
        label = draw.integers(0, task.largest + 1)
        lines.append("\t".join([str(k), f"{task.name}{split}{k}", *texts, str(label), TAGS[k % 3]]))
    path = folder / task.files[("train", "dev", "test").index(split)]
    path.write_text("\n".join(lines) + "\n")


@patch.object(intervals, "RESAMPLES", 50)
@patch("runtime.files.to_disk", lambda path: None)  # no power failure is expected
def made_run(
    path: Path,
    tasks=("sst", "para", "sts"),
    pretrains=("none", "sup"),
    encoders=("bi", "cross"),
    seeds=(1, 2),
    splits=("dev", "test"),
    soft=True,
    n=40,
) -> Path:
    """Write a run folder and the data it was scored on, in `path`; return the run folder."""
    data = path / "data"
    data.mkdir(parents=True)
    folder, cells, read = RunFolder(path / "run"), [], {}
    for task, split in product(map(TASKS.__getitem__, tasks), splits):
        write_data(data, task, split, n)
        examples = task.read(data / task.files[("train", "dev", "test").index(split)])
        read.setdefault(task.name, {"train": [], "dev": [], "test": []})[split] = examples
        kinds = encoders if task.is_pair else encoders[:1]
        for pretrain, kind, seed in product(pretrains, kinds, seeds):
            cell = Cell(
                pretrain, task.name, kind, "frozen", "concat", "b", str(data), seed, split,
                len(examples), {}, 1.0, 10.0, f"{pretrain}{task.name}{kind}{seed}",
            )  # fmt: skip
            predictions, sure = _predictions(task, examples, cell)
            ids = [example.id for example in examples]
            scores = score_split(task.name, examples, predictions, Seen())
            cells.append(Cell.from_json(cell.to_json() | scores))
            folder.write_predictions(cell.name, task, split, ids, predictions)
            if soft:
                similar = task.label_kind == "score" and kind == "bi"
                folder.write_soft(cell, ids, soft=sure, **{"cosines": sure / 5} if similar else {})
    _write_curves(folder, cells)
    command = ["run_multitask.py", "--data", EVIL]
    options = {"data": str(data), "backbone": "b", "simcse": {"x": [1, None]}}
    folder.write_json("config.json", {"command": command, "options": options, "sha256": {"a": "0"}})
    folder.write_results(cells)
    splits = {task: Splits(**examples) for task, examples in read.items()}
    folder.write_json("comparisons.json", to_json(judge_cells(cells, splits, folder)))
    return folder.path


def _predictions(task, examples, cell):
    """Return predictions and what lies behind them; those of the bi-encoder are the better ones."""
    draw = np.random.default_rng([len(cell.name), cell.seed])
    labels = np.array([example.label for example in examples], float)
    noise = draw.normal(0, 0.6 if cell.reader == "bi" else 1.4, len(labels))
    if task.label_kind == "score":
        return labels + noise, labels + noise
    if task.label_kind == "binary":
        sure = 1 / (1 + np.exp(1 - 2 * labels - 2 * noise))
        return (sure > 0.5).astype(float), sure
    classes = np.clip(np.rint(labels + noise), 0, task.largest)
    return classes, np.eye(task.num_classes)[classes.astype(int)] * 0.75 + 0.05


def _write_curves(folder: RunFolder, cells: list[Cell]) -> None:
    for cell in cells:
        history = [{"epoch": e, "loss": 1.0, "dev_score": 0.1 * e} for e in (1, 2)]
        folder.add_curve(cell.name, history)
        if cell.pretrain != "none":
            start = {"step": 0, "dev_score": 0.1, "alignment": 0.4, "uniformity": -1.0}
            end = {"step": 8, "alignment": 0.3, "uniformity": -2.0}
            folder.add_curve(f"{cell.pretrain}-{cell.seed}", [start, end])


def add_costs(run: Path) -> None:
    """Write what `python -m report cost` measures of two cells."""
    cells = []
    for kind, compared in (("bi", 1e6), ("cross", None)):
        cost = {"reader": kind, "passes": 1, "flops": 1e9, "milliseconds": 3.0}
        cost |= {"examples_per_second": 500.0, "comparisons_per_second": compared}
        name = f"none-para-{kind}-frozen-concat-1"
        cells.append({"cell": name, "task": "para", "cost": cost})
    machine = {"name": "m & co", "cores": 4, "device": "cpu", "precision": "p", "threads": 1}
    costs = {"run": str(run), "cells": cells, "machine": machine | {"load": 1}, "budget": 2.0}
    (run / "costs.json").write_text(json.dumps(costs | {"break_even": {"para": 1.5}}))
