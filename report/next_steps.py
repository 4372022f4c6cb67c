"""What to type after a run: commands with its names, to be pasted."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from data.tasks import TASKS
from heads.heads import reads_cls
from report.cell import Cell

FILES = {"search": "queries.txt --corpus texts.txt"}  # where a command needs a file of the user's
OTHER = {"mini": "mini-sts"}  # the encoder to compare one with


class Step(NamedTuple):
    """A purpose in words, and the command for it."""

    purpose: str
    command: str


def next_steps(path: Path, cells: Sequence[Cell], config: dict[str, Any]) -> list[Step]:
    """Return the commands for new texts, a threshold, an export, and another encoder.

    Args:
        path: the run folder.
        cells: of the run.
        config: config.json.
    """
    run, options = shlex.quote(str(path)), config["options"]
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    task = TASKS[tasks[0]]
    cell = f" --cell {tasks[0]}" if len(tasks) > 1 else ""
    new = FILES.get(task.name, "new.tsv" if task.is_pair else "new.txt")
    steps = [Step("predict new texts", f"python -m heads predict {run} {new}{cell}")]
    of_pairs = [t for t in map(TASKS.__getitem__, tasks) if t.is_pair]
    for one in [t for t in of_pairs if t.label_kind in ("binary", "score")][:1]:
        own, columns = options.get("pairs") or [], options.get("columns") or []
        table = shlex.quote(str(own[0])) if len(own) == 1 else "labelled.tsv"
        if columns and len(own) == 1:
            table += f" --columns {shlex.join(map(str, columns))}"
        at = " --at SCORE" if one.label_kind == "score" else ""
        which = f" --cell {one.name}" if len(tasks) > 1 else ""
        command = f"python -m heads threshold {run} {table}{at}{which}"
        steps.append(Step("choose the threshold for yes", command))
    exported = [
        one
        for one in cells
        if one.reads_as == "bi" or reads_cls(TASKS[one.task], one.reads_as, one.features)
    ]
    if exported:
        command = f"python -m heads export {run} --out my-encoder{cell}"
        steps.append(Step("use it elsewhere", command))
        of_task = [one for one in cells if one.task == task.name and "cosine" in one.threshold]
        from_on = {f"{one.threshold['cosine']:.3f}" for one in of_task}
        if len(from_on) == 1:  # of one encoder
            steps.append(Step("use the cosine", f"{command}   # yes from {from_on.pop()} on"))
    else:
        command = f"python -m heads export {run} --onnx my-head.onnx{cell}"
        steps.append(Step("use it elsewhere (as ONNX)", command))
    words = _in_its_own_folder(list(map(str, config.get("command") or [])))
    encoders = options.get("backbone")
    program = words and Path(words[0]).name == "run_multitask.py"
    if isinstance(encoders, str) and program and "--backbone" not in words:
        again = shlex.join(["python", *words])
        command = f"{again} --backbone {shlex.quote(encoders)} {OTHER.get(encoders, 'mini')}"
        steps.append(Step("compare another encoder", command))
    return steps


def _in_its_own_folder(words: Sequence[str]) -> list[str]:
    """Return the words of a command without --run-dir DIR and --resume."""
    kept = [word for word in words if word != "--resume" and not word.startswith("--run-dir=")]
    if "--run-dir" in kept:
        at = kept.index("--run-dir")
        kept[at : at + 2] = []
    return kept


def in_lines(steps: Sequence[Step]) -> list[str]:
    """Return the steps as aligned lines: a purpose, and its command."""
    width = max(len(step.purpose) for step in steps)
    return ["Next:", *(f"  {step.purpose:{width}}   {step.command}" for step in steps)]
