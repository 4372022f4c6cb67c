"""The finished cells of a run folder: one is found by its name or by its scores, and opened."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baselines.isbert import load_tuned
from data.examples import DataError
from data.tasks import TASKS
from heads.heads import HEADS
from heads.saved import SavedHead, load_head
from minbert.checkpoint import read_about
from runtime.files import read_json


@dataclass(frozen=True)
class FinishedCell:
    """A trained head in a run folder, and what results.json says of it.

    Attributes:
        path: RUN/heads/NAME.safetensors.
        scores: its entries in results.json, one per labelled split, dev first.
    """

    path: Path
    scores: tuple[dict[str, Any], ...]

    @property
    def name(self) -> str:
        """Return the cell's name, `sup-sts-bi-frozen-interaction-42`."""
        return self.path.stem

    @property
    def task(self) -> str:
        """Return the name of its task."""
        return str(self.scores[0]["task"])

    @property
    def dev_score(self) -> float:
        """Return the task's main metric on dev, below all others where it is not defined."""
        score = self.scores[0]["metrics"][TASKS[self.task].main_metric]
        return float("-inf") if score is None else float(score)


def finished_cells(run: Path) -> list[FinishedCell]:
    """Return the cells of a run whose heads are there, task by task, the best on dev first.

    Raises:
        DataError: no run folder, damaged results, or no finished cell.
    """
    path = run / "results.json"
    if not path.is_file():
        raise DataError(f"{run}: no results.json in it; give the folder of a run, such as runs/sts")
    entries = defaultdict(list)
    try:
        for entry in read_json(path):
            TASKS[entry["task"]], dict(entry["metrics"]), int(entry["n"])
            entries[entry["key"]].append(entry)
        for own in entries.values():
            own.sort(key=lambda entry: entry["split"])  # dev, then test
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a run's results ({error!r}); repeat the run") from None
    cells = []
    for head in sorted(run.glob("heads/*.safetensors")):
        # A head and its scores carry the same key, whatever else its name is made of.
        own = entries.get(read_about(head).get("key"), [])
        # 0.14.0 knew encoders that no head is made for any more.
        if own and (TASKS[own[0]["task"]].label_kind, own[0]["encoder"]) in HEADS:
            cells.append(FinishedCell(head, tuple(own)))
    if not cells:
        raise DataError(f"{run}: no finished cell in its heads/; repeat the run")
    order = list(TASKS)
    return sorted(cells, key=lambda cell: (order.index(cell.task), -cell.dev_score))


def find_cell(run: Path, wanted: str | None) -> FinishedCell:
    """Return a cell by its name, or the best one on dev, of a task if that is named.

    Raises:
        DataError: there is no such cell, or scores of several tasks cannot be compared.
    """
    cells = finished_cells(run)
    if wanted is None:
        tasks = list(dict.fromkeys(cell.task for cell in cells))
        if len(tasks) > 1:
            named = " or ".join(f"--cell {task}" for task in tasks)
            raise DataError(f"{run}: has cells of several tasks; give {named}, or a cell's name")
        return cells[0]
    for cell in cells:
        if wanted in (cell.name, cell.task):
            return cell
    names = ", ".join(cell.name for cell in cells)
    raise DataError(f"{run}: no finished cell {wanted!r}; it has {names}")


def open_cell(cell: FinishedCell, device: str) -> SavedHead:
    """Return a cell's head and its encoder, in the precision of its run.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    return load_head(cell.path, load_tuned, device)
