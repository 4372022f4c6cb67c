"""The rows of a table, measured: tunings of an encoder, and heads; or found where they were left.

All that a table needs of a tuning is a few numbers and its history, so no weights are kept. The
name of their file is a hash of everything that decides them.
"""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baselines.objectives import ALL_OBJECTIVES
from data.tasks import TASKS
from evaluation.metrics import labels_of, task_metrics
from evaluation.suites.sts import sts_metrics
from experiment.ablate.recipes import AblateOptions, command_of, training_file, words_of
from experiment.ablate.table import BEFORE, HEAD, TUNING, Row, Table
from experiment.grid import Stage
from experiment.opening import Run, find_inputs, open_run
from experiment.settings import Settings, parse_options
from heads.features import FEATURES
from heads.inputs import inputs_of
from report.cell import Cell, best_known
from run_multitask import contrastive_stage, run
from runtime.errors import UserError
from runtime.files import digest, read_object, write_text
from runtime.streams import Say
from simcse.stage import decisive, read_notes

# Of the contrastive settings, those that decide which texts are read, and as what.
VIEWS = ("max_length", "positive", "positive_share")
PENALTIES = np.logspace(-2, 4, 13)


@dataclass(frozen=True)
class Measured:
    """What was measured of one row with one seed.

    Attributes:
        row: its label.
        values: by the names of the table's columns; None where a measure is undefined.
        seconds: of tuning and measuring, since the last resumption.
        command: that gives the same numbers, and more.
        history: of a tuning, as its training.json has it.
    """

    row: str
    seed: int
    values: dict[str, float | None]
    seconds: float
    command: str
    history: list[dict[str, Any]] = field(default_factory=list)


class Bench:
    """Measures rows one after the other; keeps what several rows read."""

    def __init__(self, options: AblateOptions, say: Say):
        self.options, self.say = options, say
        self._read: tuple[Any, Run] | None = None

    def measured(self, table: Table, row: Row) -> Iterator[Measured]:
        """Yield what is measured of a row, seed by seed.

        Raises:
            UserError: something that the row's command names is missing or cannot be used.
            OSError: the folder cannot be written.
        """
        file, before = training_file(row, self.options)
        words = [*words_of(row, table, self.options), *file]
        command = " && ".join(filter(None, (before, command_of(words))))
        # Encoders of other sizes or data get a run folder of their own.
        options = self.options
        shared = [options.backbone, options.data, options.scale, options.steps, words]
        folder = options.out / "runs" / f"{table.name}-{digest(shared)[:8]}"
        settings = replace(parse_options(words), run_dir=folder, resume=True)
        if HEAD[0] not in table.columns:
            for seed in settings.all_seeds:
                yield self._tuned(row, replace(settings, seed=seed, seeds=1), command)
        elif row.linear:
            score = {HEAD[0]: self._linear(settings)}
            for seed in settings.all_seeds:
                yield Measured(row.label, seed, score, 0.0, "python -m experiment.ablate report")
        else:
            for cell in cells_of(row, run(settings, self.say), table):
                metric = TASKS[cell.task].main_metric
                values = {HEAD[0]: cell.metrics[metric], BEFORE: cell.before.get(metric)}
                values = {name: values[name] for name in table.columns}
                yield Measured(row.label, cell.seed, values, cell.seconds, command)

    def _opened(self, settings: Settings) -> Run:
        """Return what settings name, read once for all rows of the same texts in a row."""
        # What is drawn for the positives is the same for all seeds.
        views = [settings.simcse.get(name) for name in VIEWS]
        places = (settings.unsup_data, settings.sup_data, settings.data, settings.backbone)
        key = (settings.pretrain, settings.pooling, *places, *views)
        if self._read is None or self._read[0] != key:
            self._read = None  # its memory, before as much is needed again
            self._read = (key, open_run(find_inputs(settings)))
        opened = self._read[1]
        return replace(opened, inputs=replace(opened.inputs, settings=settings))

    def _tuned(self, row: Row, settings: Settings, command: str) -> Measured:
        """Return a tuned encoder's numbers; it is tuned unless an earlier run did."""
        opened, seed = self._opened(settings), settings.seed
        (name,) = settings.pretrain
        config = settings.simcse_config(name, seed)
        texts = opened.texts[name]
        made_of = decisive(opened.backbone, ALL_OBJECTIVES[name], config, texts.digests)
        scored_on = digest([made_of, opened.digests["sts"]])[:16]
        path = self.options.out / "measured" / f"{name}-{scored_on}.json"
        if not path.is_file():
            started = time.perf_counter()
            stage = Stage(name, seed, config, ())
            encoder = contrastive_stage(opened, stage, self.say).encoder
            weights = (opened.folder.path / "backbones" / f"{name}-{seed}").resolve()
            history = read_notes(weights)["history"]
            last = [record for record in history if "alignment" in record][-1]
            best = sts_metrics(encoder.encode_quietly, opened.splits["sts"].dev)["spearman"]
            values = {"best": best, **{measure: last[measure] for measure in TUNING[1:]}}
            seconds = time.perf_counter() - started
            content = {"values": values, "seconds": seconds, "history": history}
            write_text(path, json.dumps(content, indent=1) + "\n")
            shutil.rmtree(weights)
        try:
            found = read_object(path)
            values, seconds, history = (found[part] for part in ("values", "seconds", "history"))
            told = "undefined" if values["best"] is None else f"{values['best']:.4f}"
            self.say(f"  {row.label}, seed {seed}: best {told}, {seconds:.0f} s")
            return Measured(row.label, seed, values, seconds, command, history)
        except (ValueError, LookupError, TypeError) as error:
            raise UserError(f"{path}: not a measurement ({error!r}); delete it") from None

    def _linear(self, settings: Settings) -> float | None:
        """Return Pearson's r of one linear layer on the untuned encoder's pairs of embeddings.

        Ridge regression on standardised features, its penalty chosen by leave-one-out on the
        training pairs: the best linear layer rather than one trained for a while.
        """
        opened = open_run(find_inputs(settings))
        splits, encoder = opened.splits["sts"], opened.backbone.encoder.freeze()
        named = {"train": splits.train, "dev": splits.dev}
        features = FEATURES["bi"](settings.features)
        read = inputs_of(encoder, named, features, "frozen", opened.cache)
        train, dev = (one.batch(np.arange(len(one))).cpu().numpy() for one in read.values())
        linear = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))
        linear.fit(train, labels_of(splits.train))
        return task_metrics("sts", linear.predict(dev), labels_of(splits.dev))["pearson"]


def cells_of(row: Row, cells: Sequence[Cell], table: Table) -> list[Cell]:
    """Return the cells of a row, one per seed, on the split that the table is scored on."""
    own = [cell for cell in cells if cell.task == row.label.partition(":")[0]]
    return best_known(own) if table.held_out else [cell for cell in own if cell.split == "dev"]
