"""What is learnt first is forgotten: one encoder for three tasks, and what helps (report, table 3).

    python -m experiment.ablate.tables.forgetting --seeds 3

Every row is a command of run_multitask.py in one run folder, so that a second call computes nothing
again. Beside its scores: the transfer of every task's own encoder to the others, and the drift.
Reads: experiment, forgetting. Feeds: OUT/forgetting.csv and .json.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from baselines.isbert import load_tuned
from data.fetch.locate import data_folder
from data.tasks import TASKS, read_task
from evaluation.table import csv_text, markdown
from experiment.comparison import run
from experiment.forgetting import Drift, drift
from experiment.settings import Settings
from heads.joint.config import REPORT_ORDER, JointConfig
from minbert.hub import find_checkpoint
from report.cell import Cell, best_known
from runtime.files import write_text
from runtime.options import option, parse

OWN = "own model"  # --tune full: each task by itself
# Label -> schedule and remedies; published: the report's, of bert-base-uncased on CS224N's data.
ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sequential": ("sequential", ()),
    "sequential, recall": ("sequential", ("recall",)),
    "sequential, replay": ("sequential", ("replay",)),
    "sequential, recall, replay": ("sequential", ("recall", "replay")),
    "proportional": ("proportional", ()),
    "annealed": ("annealed", ()),
    "annealed, recall": ("annealed", ("recall",)),
    "annealed, ranking": ("annealed", ("ranking",)),
    "annealed, distill": ("annealed", ("distill",)),
    "round-robin": ("round-robin", ()),
    "round-robin, pcgrad": ("round-robin", ("pcgrad",)),
}
PUBLISHED = {"sst": (0.528, 0.135), "sts": (0.869, 0.404)}  # before and after the later tasks
TEXTS = 500  # dev texts per task that drift is measured on


@dataclass(frozen=True)
class ForgettingOptions:
    """The command line."""

    backbone: str = option("mini", "as for run_multitask.py")
    data: str = option("bundled", "as for run_multitask.py")
    seeds: int = option(3, "how many", least=1, most=1000)
    epochs: int | None = option(None, "per task (the preset's)", least=1, most=10**6)
    rate: float | None = option(None, "of the encoder (the preset's)", least=1e-12, most=1e12)
    preset: str = option("quick", "recipe", choices=("quick", "report"))
    rows: tuple[str, ...] = option(tuple(ROWS), "which rows", choices=tuple(ROWS))
    out: Path = option(Path("runs/forgetting"), "folder of the runs and of the results")


@dataclass(frozen=True)
class Line:
    """One row with one seed on one task, in the task's main metric.

    Attributes:
        row: its label.
        seed: of the training.
        task: its name.
        metric: the main one.
        split: test, or dev where test has no labels.
        before: right after the task's own phase; None unless tasks are learnt one after the other.
        after: in the end.
        own: of the task's own model.
    """

    row: str
    seed: int
    task: str
    metric: str
    split: str
    before: float | None
    after: float | None
    own: float | None


def settings_of(options: ForgettingOptions, row: str) -> Settings:
    """Return the settings of a row; OWN is the tasks' own models."""
    schedule, remedies = ROWS.get(row, ("annealed", ()))
    joint: dict[str, Any] = {"schedule": schedule, "remedies": remedies or ("none",)}
    return Settings(
        task=("all",),
        tune=("full" if row == OWN else "joint",),
        **({} if row == OWN else joint),
        **_shared(options),
        backbone=options.backbone,
        seeds=options.seeds,
        run_dir=options.out / "runs",
    )


def lines(options: ForgettingOptions) -> Iterator[Line]:
    """Yield the lines of all rows, each computed unless an earlier call has left it there."""
    own: dict[tuple[str, int], float | None] = {}
    for row in (OWN, *options.rows):
        wanted = "full" if row == OWN else JointConfig(*ROWS[row]).name
        cells = run(settings_of(options, row), _say)
        for cell in best_known([cell for cell in cells if cell.tune == wanted]):
            metric = TASKS[cell.task].main_metric
            found = cell.metrics[metric]
            own.setdefault((cell.task, cell.seed), found)
            about = (row, cell.seed, cell.task, metric, cell.split, cell.before.get(metric), found)
            yield Line(*about, own[cell.task, cell.seed])


def transfer(options: ForgettingOptions) -> list[dict[str, Any]]:
    """Return the scores of frozen heads on encoders tuned on one task, or on none."""
    found = []
    for source in ("none", *REPORT_ORDER):
        for seed in _seeds(options):
            name = f"none-{source}-bi-full-interaction-{seed}"
            folder = options.out / "runs" / "models" / name
            settings = Settings(
                task=("all",),
                **_shared(options, frozen=True),
                backbone=options.backbone if source == "none" else str(folder),
                seed=seed,
                run_dir=options.out / "transfer" / f"{source}-{seed}",
            )
            found += [_transferred(source, cell) for cell in best_known(run(settings, _say))]
    return found


def drifts(options: ForgettingOptions) -> list[dict[str, Any]]:
    """Return the drift of every row's encoder, and of the tasks' own ones, seed by seed."""
    source = find_checkpoint(options.backbone)
    untuned = load_tuned(source, "auto", "float32")
    texts = [
        text
        for task in REPORT_ORDER
        for example in read_task(data_folder(options.data), task).dev[:TEXTS]
        for text in example.texts[:1]
    ]
    names = {f"{OWN}, {task}": (task, "full") for task in REPORT_ORDER}
    every = "+".join(REPORT_ORDER)
    names |= {row: (every, JointConfig(*ROWS[row]).name) for row in options.rows}
    found = [_drifted("untuned", 0, drift(untuned, source, untuned, texts))]
    for row, (task, tune) in names.items():
        for seed in _seeds(options):
            name = f"none-{task}-bi-{tune}-interaction-{seed}"
            tuned = load_tuned(options.out / "runs" / "models" / name, "auto", "float32")
            found.append(_drifted(row, seed, drift(untuned, source, tuned, texts)))
    return found


def table(found: Sequence[Line]) -> str:
    """Return the scores as Markdown, means over seeds: before > after (after - own)."""
    cells: dict[str, dict[str, list[Line]]] = {}
    for line in found:
        cells.setdefault(line.row, {}).setdefault(line.task, []).append(line)
    rows = [
        [row, *(_told(own.get(task, [])) for task in REPORT_ORDER)] for row, own in cells.items()
    ]
    report = [f"{b:.3f} > {a:.3f}" for b, a in (PUBLISHED[t] for t in PUBLISHED)]
    rows.append(["sequential, the report's (other data and backbone)", *report, "-"])
    return markdown(("row", *REPORT_ORDER), rows)


def transfer_table(found: Sequence[dict[str, Any]]) -> str:
    """Return what `transfer` returned as Markdown, means over seeds: a row per tuned encoder."""
    scores: dict[str, dict[str, list[float]]] = {}
    for one in found:
        score = float("nan") if one["score"] is None else one["score"]
        scores.setdefault(one["tuned_on"], {}).setdefault(one["task"], []).append(score)
    rows = [
        [source, *(f"{mean(own[task]):.3f}" for task in REPORT_ORDER)]
        for source, own in scores.items()
    ]
    return markdown(("frozen, tuned on", *REPORT_ORDER), rows)


def drift_table(found: Sequence[dict[str, Any]]) -> str:
    """Return what `drifts` returned as Markdown, means over seeds, of the last layer."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        groups.setdefault(one["row"], []).append(one)
    last = list(found[0]["cka"])[-1]
    rows = [
        [
            row,
            *(f"{mean(one[name][last] for one in own):.3f}" for name in ("weights", "cka")),
            f"{mean(one['perplexity'] for one in own):.1f}",
        ]
        for row, own in groups.items()
    ]
    return markdown(("encoder", f"weights, {last}", f"CKA, {last}", "perplexity"), rows)


def _told(own: Sequence[Line]) -> str:
    """Return one task of one row: `0.528 > 0.135 (-0.393)`."""
    if not own or any(line.after is None or line.own is None for line in own):
        return "-"
    after = mean(line.after or 0.0 for line in own)
    lost = after - mean(line.own or 0.0 for line in own)
    before = [line.before for line in own if line.before is not None]
    start = f"{mean(before):.3f} > " if before else ""
    return f"{start}{after:.3f} ({lost:+.3f})"


def _shared(options: ForgettingOptions, frozen: bool = False) -> dict[str, Any]:
    given = {"num_epochs": options.epochs, "backbone_learning_rate": options.rate}
    head = {} if frozen else {name: value for name, value in given.items() if value is not None}
    return {"data": options.data, "preset": options.preset, "head": head}


def _seeds(options: ForgettingOptions) -> range:
    return range(42, 42 + options.seeds)


def _transferred(source: str, cell: Cell) -> dict[str, Any]:
    score = cell.metrics[TASKS[cell.task].main_metric]
    return {"tuned_on": source, "task": cell.task, "seed": cell.seed, "score": score}


def _drifted(row: str, seed: int, found: Drift) -> dict[str, Any]:
    return {"row": row, "seed": seed, **asdict(found)}


def _say(line: str) -> None:
    if line.startswith(("cell", "tuning")):
        print(line, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    options = parse(ForgettingOptions, argv, description=__doc__)
    found = list(lines(options))
    print(table(found))
    rows = [list(asdict(line).values()) for line in found]
    write_text(options.out / "forgetting.csv", csv_text(list(Line.__annotations__), rows))
    more = {"transfer": transfer(options), "drift": drifts(options)}
    print(transfer_table(more["transfer"]), drift_table(more["drift"]), sep="\n\n")
    write_text(options.out / "forgetting.json", json.dumps(more, indent=2) + "\n")
    print(f"results: {options.out / 'forgetting.csv'} and .json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
