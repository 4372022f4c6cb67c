"""Rows that are heads: cells of run_multitask.py's grid, and a linear layer by itself.

Reads: experiment.comparison, recipes. Feeds: the command.
"""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from data.tasks import TASKS
from evaluation.metrics import labels_of, task_metrics
from experiment.ablate.measuring import Measured
from experiment.ablate.options import AblateOptions
from experiment.ablate.recipes import command_of
from experiment.ablate.table import BEFORE, HEAD, Row, Table
from experiment.opening import Run, find_inputs, open_run
from experiment.settings import Settings
from heads.config import REPORT_ORDER
from heads.features import FEATURES
from heads.inputs import frozen_inputs
from report.cell import Cell, Coordinates, best_known
from run_multitask import run
from runtime.errors import UserError
from runtime.files import digest, read_object, write_text
from runtime.streams import Say

# What makes a run; the rest of a row's settings are places in its grid.
RUN = ("tune", "features", "schedule", "remedies")
LINEAR = "linear"
PLACE = ("task", "encoder")
# What all runs of a table share.
SHARED = ("backbone", "data", "unsup_data", "sup_data", "device", "precision")
PENALTIES = np.logspace(-2, 4, 13)


def grids(table: Table) -> list[list[Row]]:
    """Return the rows of each run: those whose heads are trained alike."""
    found: dict[str, list[Row]] = {}
    for row in table.rows:
        if row.settings.get("head") != LINEAR:
            found.setdefault(str([row.settings.get(name) for name in RUN]), []).append(row)
    return list(found.values())


def measured_heads(
    table: Table, options: AblateOptions, say: Say
) -> tuple[list[Measured], dict[str, str]]:
    """Return what was measured of a table of heads, and which rows could not be, with why."""
    found: list[Measured] = []
    failed: dict[str, str] = {}
    linear = [[row] for row in table.rows if row.settings.get("head") == LINEAR]
    for rows in [*linear, *grids(table)]:
        try:
            if rows[0].settings.get("head") == LINEAR:
                found += measured_linear(rows[0], options)
            else:
                found += measured_grid(table, rows, options, say)
        except UserError as error:
            failed |= {row.label: str(error) for row in rows}
            say(f"  {table.name}: {len(rows)} rows left out: {error}")
    return found, failed


def grid_settings(table: Table, rows: Sequence[Row], options: AblateOptions) -> Settings:
    """Return the settings of the grid that holds all these rows.

    The runs of a table share a run folder, so that none repeats what another has trained.

    Raises:
        UserError: a setting that is unknown or out of bounds.
    """
    values: dict[str, Any] = {
        name: tuple(dict.fromkeys(row.settings[name] for row in rows)) for name in PLACE
    }
    values |= {name: rows[0].settings[name] for name in RUN if name in rows[0].settings}
    if values.get("tune") == "joint":  # whichever of its rows are asked for
        values["task"] = REPORT_ORDER
    values["pretrain"] = tuple(dict.fromkeys(row.pretrain for row in rows))
    shared: dict[str, Any] = {name: getattr(options, name) for name in SHARED}
    shared["preset"] = "quick" if options.scale == "quick" else "report"
    if options.steps:
        shared["simcse"] = {"max_steps": options.steps}
    values |= shared | {"threads": options.threads}
    if unknown := set(values) - {found.name for found in fields(Settings)}:
        raise UserError(f"unknown setting {', '.join(sorted(unknown))} of run_multitask.py")
    folder = options.out / "runs" / f"{table.name}-{digest(shared)[:8]}"
    values |= {"seeds": options.seeds, "seed": options.seed, "run_dir": folder, "resume": True}
    return Settings(**values, cost_seconds=0)


def measured_grid(
    table: Table, rows: Sequence[Row], options: AblateOptions, say: Say
) -> list[Measured]:
    """Return what was measured of the rows of one run, in the main metric of their task.

    Raises:
        UserError: as `experiment.run`.
    """
    settings = grid_settings(table, rows, options)
    # Teachers are in the run as well, before what they teach.
    cells = [cell for cell in run(settings, say) if cell.tune == settings.tunings[-1]]
    command = command_of(replace(settings, resume=False))
    found = []
    for row in rows:
        for cell in cells_of(row, cells, table):
            metric = TASKS[cell.task].main_metric
            values = {HEAD[0]: cell.metrics[metric], BEFORE: cell.before.get(metric)}
            values = {name: values[name] for name in table.columns}
            made = {"command": command, "split": cell.split}
            found.append(Measured(row.label, cell.seed, values, cell.seconds, [], made, cell.key))
    return found


def cells_of(row: Row, cells: Sequence[Cell], table: Table) -> list[Cell]:
    """Return the cells of a row, one per seed, on the split that the table is scored on."""
    return scored_on([cell for cell in cells if is_of(row, cell)], table)


def is_of(row: Row, head: Coordinates) -> bool:
    """Return whether a head of a row's grid is the row's."""
    place = (row.pretrain, *(row.settings[name] for name in PLACE))
    return (head.pretrain, head.task, head.encoder) == place


def scored_on(cells: Sequence[Cell], table: Table) -> list[Cell]:
    """Return the cells of the split that a table is scored on, task by task."""
    if not table.held_out:
        return [cell for cell in cells if cell.split == "dev"]
    tasks = dict.fromkeys(cell.task for cell in cells)
    return [one for task in tasks for one in best_known([c for c in cells if c.task == task])]


def measured_linear(row: Row, options: AblateOptions) -> list[Measured]:
    """Return Pearson's r of one linear layer on the untuned encoder's pairs of embeddings.

    Ridge regression, its penalty chosen by leave-one-out on the training pairs: the best linear
    layer rather than one trained for a while. It is the same for every seed.

    Raises:
        UserError: as `find_inputs`.
    """
    names = ("backbone", "data", "device", "precision")
    values = {name: getattr(options, name) for name in names}
    settings = Settings(task=("sts",), features=row.settings["features"], **values)
    opened = open_run(find_inputs(settings))
    how = (settings.features, *(values[name] for name in names))
    path = options.out / "measured" / f"linear-{digest([*how, opened.digests['sts']])[:16]}.json"
    if not path.is_file():
        write_text(path, json.dumps({"score": _ridge(opened, options.out / "cache")}) + "\n")
    score = {"score": read_object(path)["score"]}
    made = {"command": "python -m experiment.ablate report"}
    seeds = range(options.seed, options.seed + options.seeds)
    return [Measured(row.label, seed, score, 0.0, [], made, path.stem) for seed in seeds]


def _ridge(opened: Run, cache: Path) -> float | None:
    """Return Pearson's r on dev of ridge regression on a head's features, standardised."""
    settings, splits = opened.settings, opened.splits["sts"]
    encoder = opened.backbone.encoder.freeze()
    both = [splits.train, splits.dev]
    read = frozen_inputs(
        encoder, encoder.fingerprint(), both, FEATURES["bi"](settings.features), cache
    )
    train, dev = (one.batch(np.arange(len(one))).cpu().numpy() for one in read)
    linear = make_pipeline(StandardScaler(), RidgeCV(PENALTIES)).fit(train, labels_of(both[0]))
    return task_metrics("sts", linear.predict(dev), labels_of(both[1]))["pearson"]
