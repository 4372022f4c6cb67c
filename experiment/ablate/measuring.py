"""The rows of a table, measured: tunings of an encoder, and heads; or found where they were left.

All that a table needs of a tuning is its history, a few kilobytes, so no weights are kept. The
name of the file is a hash of everything that decides the numbers.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baselines.objectives import ALL_OBJECTIVES
from data.tasks import TASKS
from evaluation.geometry import pair_geometry
from evaluation.metrics import labels_of, task_metrics
from evaluation.sts import selection_score, sts_metrics
from experiment.ablate.recipes import AblateOptions, command_of, settings_of, training_file
from experiment.ablate.table import BEFORE, HEAD, Row, Table
from experiment.opening import Run, find_inputs, open_run
from experiment.settings import Settings
from heads.config import REPORT_ORDER, head_config
from heads.features import FEATURES
from heads.inputs import inputs_of
from minbert.encoder import SentenceEncoder
from report.cell import Cell, best_known
from run_multitask import run
from runtime.errors import UserError
from runtime.files import digest, read_object, sweep, write_text
from runtime.streams import Say
from simcse.stage import TrainingTexts, stage_key
from simcse.train import SimCSETrainer

# Of the contrastive settings, those that decide which texts are read, and as what.
VIEWS = ("max_length", "positive", "positive_share")


@dataclass(frozen=True)
class Measured:
    """What was measured of one row with one seed.

    Attributes:
        row: its label.
        values: by the names of the table's columns; None where a measure is undefined.
        seconds: of tuning and measuring, since the last resumption.
        history: one point per measurement, and one per dev check.
        made: how: command, precision, threads, number of steps.
        key: under which it is stored.
    """

    row: str
    seed: int
    values: dict[str, float | None]
    seconds: float
    history: list[dict[str, Any]]
    made: dict[str, Any]
    key: str


class Bench:
    """Measures rows one after the other; keeps what several rows read."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._read: tuple[Any, Run] | None = None

    def opened(self, settings: Settings) -> Run:
        """Return what settings name, read once for all rows of the same texts in a row.

        Raises:
            UserError: as `find_inputs` and `open_run`.
        """
        # What is drawn for the positives is the same for all seeds.
        views = {name: settings.simcse.get(name) for name in VIEWS}
        places = (settings.unsup_data, settings.sup_data, settings.data, settings.backbone)
        how = (settings.pretrain, settings.pooling)
        key = (*how, *places, *views.values())
        if self._read is None or self._read[0] != key:
            self._read = None  # its memory, before as much is needed again
            self._read = (key, open_run(find_inputs(settings)))
        return self._read[1]

    def measured(self, label: str, settings: Settings, before: str = "") -> Measured:
        """Return what was measured of a row with one seed; measure it unless an earlier run did.

        Args:
            label: of the row.
            settings: of this seed.
            before: the command that made the training file, "" for none.

        Raises:
            UserError: something that the settings name cannot be used.
            OSError: the folder cannot be written.
        """
        run = self.opened(settings)
        backbone = run.backbone
        (name,) = settings.objectives
        config = settings.simcse_config(name, settings.seed)
        texts = run.texts[name]
        digests = texts.digests | {"measured on": run.digests["sts"]}
        key = stage_key(backbone, ALL_OBJECTIVES[name], config, digests)
        path = self.folder / f"{name}-{key}.json"
        sweep(self.folder)
        if not path.is_file():
            self._tune(run, texts, settings, path)
        _state_path(path).unlink(missing_ok=True)  # also where a run was killed before this
        try:
            found = read_object(path)
            history, seconds, made = (found[part] for part in ("history", "seconds", "made"))
            made |= {"command": " && ".join(filter(None, (before, command_of(settings))))}
            return Measured(label, settings.seed, values_of(history), seconds, history, made, key)
        except (ValueError, LookupError, TypeError) as error:
            raise UserError(f"{path}: not a measurement ({error!r}); delete it") from None

    def _tune(
        self,
        run: Run,
        texts: TrainingTexts,
        settings: Settings,
        path: Path,
    ) -> None:
        (name,) = settings.objectives
        form = ALL_OBJECTIVES[name].form
        config = settings.simcse_config(name, settings.seed)
        started = time.perf_counter()
        trainer: SimCSETrainer
        backbone, dev, selection = run.backbone, run.splits["sts"].dev, run.selection
        trainer = SimCSETrainer(
            backbone.encoder.clone(),
            texts.data,
            config,
            (lambda: selection_score(trainer.form.reader.encode_quietly, selection))
            if selection
            else None,
            _state_path(path),
            backbone.folder,
            form,
            lambda: point(trainer.form.reader, dev),
        )
        history = trainer.run(resume=True)
        seconds = time.perf_counter() - started
        made = {
            "config": asdict(config),
            "steps": trainer.num_steps,
            "precision": str(backbone.encoder.dtype).removeprefix("torch."),
            "threads": torch.get_num_threads(),
        }
        content = {"seconds": seconds, "made": made, "history": history}
        write_text(path, json.dumps(content, indent=1) + "\n")


def _state_path(path: Path) -> Path:
    return path.with_suffix(".state.pt")


def point(encoder: SentenceEncoder, pairs: Sequence[Any]) -> dict[str, float | None]:
    """Return Spearman's rho of cosines on scored pairs, and how their embeddings lie."""
    rows = {text: row for row, text in enumerate(dict.fromkeys(t for p in pairs for t in p.texts))}
    embeddings = encoder.encode_quietly(list(rows))  # once for all measures

    def known(texts: Sequence[str]) -> np.ndarray:
        return embeddings[[rows[text] for text in texts]]

    return {"spearman": sts_metrics(known, pairs)["spearman"], **pair_geometry(known, pairs)}


def values_of(history: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return the columns of a table from the history of a tuning.

    The best state is the first with the highest dev score, as the trainer keeps it; its point and
    that of the last state are in the history, as every dev check has one.
    """
    points = {record["step"]: record for record in history if "spearman" in record}
    checks = [record for record in history if "loss" in record and "dev_score" in record]
    last = points[max(points)]
    best = points[max(checks, key=lambda record: record["dev_score"])["step"]] if checks else last
    return {
        "best": best["spearman"],
        "last": last["spearman"],
        "alignment": last["alignment"],
        "uniformity": last["uniformity"],
    }


def measured_tunings(
    table: Table, options: AblateOptions, bench: Bench, say: Say
) -> Iterator[tuple[str, list[Measured] | UserError]]:
    """Yield the rows of a table of tunings with their seeds, or with what hindered them."""
    for row in table.rows:
        found: list[Measured] = []
        try:
            for seed in range(options.seed, options.seed + options.seeds):
                file = training_file(row, options)
                settings = settings_of(row, table, options, seed, file.path)
                found.append(bench.measured(row.label, settings, file.command))
                best = found[-1].values["best"]
                told = "undefined" if best is None else f"{best:.4f}"
                seconds = found[-1].seconds
                say(f"  {table.name}, {row.label}, seed {seed}: best {told}, {seconds:.0f} s")
        except UserError as error:
            yield row.label, error
        yield row.label, found


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
    table: Table, options: AblateOptions, bench: Bench, say: Say
) -> Iterator[tuple[str, list[Measured] | UserError]]:
    """Yield the rows of a table of heads, run by run, each with its numbers or what hindered it."""
    linear = [[row] for row in table.rows if row.settings.get("head") == LINEAR]
    for rows in [*linear, *grids(table)]:
        try:
            if rows[0].settings.get("head") == LINEAR:
                yield rows[0].label, measured_linear(rows[0], options)
            else:
                yield rows[0].label, measured_grid(table, rows, options, say)
        except UserError as error:
            for row in rows:
                yield row.label, error


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
    if values.get("tune") == "full":  # at the one rate of the joint trainings beside it
        rate = head_config(shared["preset"], "full", "sts").backbone_learning_rate
        values["rates"] = (rate,)
    if options.steps:
        shared["simcse"] = {"max_steps": options.steps}
    values |= shared | {"threads": options.threads}
    if unknown := set(values) - {found.name for found in fields(Settings)}:
        raise UserError(f"unknown setting {', '.join(sorted(unknown))} of run_multitask.py")
    folder = options.out / "runs" / f"{table.name}-{digest(shared)[:8]}"
    values |= {"seeds": options.seeds, "seed": options.seed, "run_dir": folder, "resume": True}
    return Settings(**values, no_baseline=True, cost_seconds=0)


def measured_grid(
    table: Table, rows: Sequence[Row], options: AblateOptions, say: Say
) -> list[Measured]:
    """Return what was measured of the rows of one run, in the main metric of their task.

    Raises:
        UserError: as `experiment.run`.
    """
    settings = grid_settings(table, rows, options)
    cells = run(settings, say)
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
    place = (row.pretrain, *(row.settings[name] for name in PLACE))
    own = [cell for cell in cells if (cell.pretrain, cell.task, cell.encoder) == place]
    return scored_on(own, table)


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
    settings = Settings(task=("sts",), encoder=("bi",), features=row.settings["features"], **values)
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
    named = {"train": splits.train, "dev": splits.dev}
    read = inputs_of(encoder, named, FEATURES["bi"](settings.features), "frozen", cache)
    train, dev = (one.batch(np.arange(len(one))).cpu().numpy() for one in read.values())
    linear = make_pipeline(StandardScaler(), RidgeCV(PENALTIES)).fit(train, labels_of(splits.train))
    return task_metrics("sts", linear.predict(dev), labels_of(splits.dev))["pearson"]
