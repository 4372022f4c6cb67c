"""What is measured of the encoders of a table of heads, besides its rows: transfer and drift."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from baselines.isbert import load_tuned
from data.locate import data_folder
from data.tasks import TASKS, read_task
from experiment.ablate.measuring import grid_settings, grids, is_of, scored_on
from experiment.ablate.recipes import AblateOptions
from experiment.ablate.table import Table
from experiment.ablate.telling import Study
from experiment.forgetting import drift
from experiment.grid import trainings
from experiment.settings import Settings
from heads.config import REPORT_ORDER
from minbert.encoder import SentenceEncoder
from minbert.hub import find_checkpoint
from run_multitask import run
from runtime.files import digest, read_object, texts_digest, write_text
from runtime.streams import Say

TEXTS = 500  # dev texts per task that drift is measured on
UNTUNED = "untuned"


@dataclass(frozen=True)
class Tuned:
    """An encoder that was tuned for rows of a table: for one task, or for several at once."""

    label: str
    task: str | None
    settings: Settings  # of its run
    seed: int
    folder: Path


def tuned(table: Table, options: AblateOptions) -> Iterator[Tuned]:
    """Yield the tuned encoders of a table's rows, run by run and seed by seed."""
    for rows in grids(table):
        settings = grid_settings(table, rows, options)
        for pretrain, seed in product(settings.pretrain, settings.all_seeds):
            for training in trainings(settings, pretrain, seed):
                heads = training.heads
                own = [row for row in rows if any(is_of(row, head) for head in heads)]
                # Teachers have rows of their own, or none.
                if own and heads[0].tune == settings.tunings[-1] != "frozen":
                    label, task = own[0].label, heads[0].task if len(heads) == 1 else None
                    label = label if task else label.partition(": ")[2]
                    folder = settings.folder() / "models" / training.name
                    yield Tuned(label, task, settings, seed, folder)


def transfer(table: Table, options: AblateOptions, say: Say) -> Study:
    """Return the scores of heads on frozen encoders that were tuned for one task, or for none.

    Raises:
        UserError: as `run_multitask.run`.
    """
    found = []
    own = [one for one in tuned(table, options) if one.task]
    if own:
        untuned = [replace(one, task=None) for one in own if one.task == own[0].task]
        for one in (*untuned, *own):
            source = one.task or UNTUNED
            folder = one.settings.folder()
            settings = replace(
                one.settings,
                task=REPORT_ORDER,
                tune=("frozen",),
                backbone=str(one.folder) if one.task else options.backbone,
                seed=one.seed,
                seeds=1,
                run_dir=folder.with_name(f"{folder.name}-transfer") / f"{source}-{one.seed}",
            )
            for cell in scored_on(run(settings, say), table):
                score = cell.metrics[TASKS[cell.task].main_metric]
                about = {"task": cell.task, "seed": cell.seed, "split": cell.split}
                found.append({"tuned on": source, **about, "score": score})
    lines = [
        (
            source,
            [
                _mean([one["score"] for one in records if one["task"] == task])
                for task in REPORT_ORDER
            ],
        )
        for source, records in _groups(found, "tuned on").items()
    ]
    title = "Transfer: scores of heads on a frozen encoder that was tuned for one task"
    return Study("transfer", title, ("tuned on", *REPORT_ORDER), lines, found)


def drifts(table: Table, options: AblateOptions, say: Say) -> Study:
    """Return how far the encoders are from the untuned one.

    Raises:
        CheckpointError: an encoder is missing, or the untuned one lacks BERT's prediction head.
    """
    source = find_checkpoint(options.backbone)
    untuned = load_tuned(source, options.device, "float32")
    texts = [
        text
        for task in REPORT_ORDER
        for example in read_task(data_folder(options.data), task).dev[:TEXTS]
        for text in example.texts[:1]
    ]

    def measured(encoder: SentenceEncoder) -> dict[str, Any]:
        """Return the drift of one encoder, as an earlier call left it if there was one."""
        key = digest([untuned.fingerprint(), encoder.fingerprint(), texts_digest("", texts)])[:16]
        path = options.out / "measured" / f"drift-{key}.json"
        if not path.is_file():
            write_text(path, json.dumps(asdict(drift(untuned, source, encoder, texts))) + "\n")
        return read_object(path)

    found: list[dict[str, Any]] = [{"encoder": UNTUNED, "seed": None, **measured(untuned)}]
    for one in tuned(table, options):
        say(f"drift     {one.label}, seed {one.seed}")
        encoder = load_tuned(one.folder, options.device, "float32")
        found.append({"encoder": one.label, "seed": one.seed, **measured(encoder)})
    last = list(found[0]["cka"])[-1]
    lines = [
        (
            label,
            [_mean([one[name][last] for one in own]) for name in ("weights", "cka")]
            + [_mean([one["perplexity"] for one in own])],
        )
        for label, own in _groups(found, "encoder").items()
    ]
    header = ("encoder", f"weights, {last}", f"CKA, {last}", "perplexity")
    title = "Drift: change of weights, likeness of the texts' states, perplexity of masked words"
    return Study("drift", title, header, lines, found)


STUDIES: Mapping[str, Callable[[Table, AblateOptions, Say], Study]] = {
    "transfer": transfer,
    "drift": drifts,
}


def _groups(records: Sequence[dict[str, Any]], name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in records:
        found.setdefault(one[name], []).append(one)
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None
