"""One row with one seed: tuned, and measured on the way; or found where an earlier run left it.

All that a table needs of a tuning is its history, a few kilobytes, so no weights are kept. The
name of the file is a hash of everything that decides the numbers.
Reads: recipes, simcse. Feeds: the command.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from baselines.objectives import ALL_OBJECTIVES
from evaluation.geometry import pair_geometry
from evaluation.sts import selection_score, sts_metrics
from experiment.ablate.recipes import command_of
from experiment.opening import Run, find_inputs, open_run
from experiment.settings import Settings
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError
from runtime.files import read_object, sweep, write_text
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
