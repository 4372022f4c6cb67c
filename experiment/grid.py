"""The grid: which stages and trainings a run consists of, each with all of its settings.

A stage is an encoder, as loaded or tuned contrastively with one seed. It has trainings, each of one
head or, in joint training, of one head per task.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from data.tasks import TASKS, Task
from experiment.settings import Settings
from heads.config import HeadConfig, JointConfig
from report.cell import ALL, Coordinates, stage_name
from simcse.config import SimCSEConfig


@dataclass(frozen=True)
class PlannedHead:
    """A head of the grid, the settings of its training, and how epochs and rate are chosen."""

    cell: Coordinates
    config: HeadConfig
    rates: tuple[float, ...]  # candidate rates of the encoder; () if there is no choice
    select: str = "train"  # of heads.config.SELECT

    @property
    def tries(self) -> bool:
        """Return whether a trial on a part of train chooses the epochs, or the rate."""
        return self.cell.tune != "none" and (self.select == "train" or bool(self.rates))


@dataclass(frozen=True)
class Training:
    """One training and its heads: one head, unless several tasks share a training (`joint`)."""

    heads: tuple[PlannedHead, ...]
    joint: JointConfig | None = None

    @property
    def name(self) -> str:
        """Return the name of its encoder: `none-sst+sts-bi-joint-sequential-interaction-42`."""
        cells = [head.cell for head in self.heads]
        return replace(cells[0], task="+".join(cell.task for cell in cells)).name

    @property
    def frozen(self) -> bool:
        """Return whether the encoder is not trained with the heads."""
        return self.heads[0].cell.tune in ("frozen", "none")


@dataclass(frozen=True)
class Stage:
    """An encoder, and the trainings on it."""

    pretrain: str  # the contrastive objective; `none` for the encoder as it was loaded
    model: str  # the backbone's short name in a run of several, else ""
    seed: int  # of the objective and of the heads
    config: SimCSEConfig | None  # of the objective; None for `none`
    trainings: tuple[Training, ...]
    baseline: bool = False  # whether it only serves to measure the effect of the other stages

    @property
    def name(self) -> str:
        """Return the name of its encoder, without the seed: `sup`, or `mini+sup`."""
        return stage_name(self.model, self.pretrain)


def grid(settings: Settings, records: Mapping[str, Task] = TASKS) -> list[Stage]:
    """Return the stages of a run in their order: encoder by encoder, the baseline first.

    `records` has the tasks' records, one of which may be that of the user's table.
    """
    stages = []
    for seed in settings.all_seeds:
        for model in settings.models:
            if tasks := baseline(settings, records):
                heads = [
                    _head(settings, model, "none", task, "bi", "frozen", seed) for task in tasks
                ]
                trainings = tuple(Training((head,)) for head in heads)
                stages.append(Stage("none", model, seed, None, trainings, baseline=True))
            for pretrain in settings.pretrain:
                config = None if pretrain == "none" else settings.simcse_config(pretrain, seed)
                trainings = tuple(_trainings(settings, records, model, pretrain, seed))
                stages.append(Stage(pretrain, model, seed, config, trainings))
    return stages


def pairings(settings: Settings, records: Mapping[str, Task]) -> list[tuple[str, str]]:
    """Return every task with each reader that fits it; a single text is read by bi only."""
    return [
        (task, reader)
        for task in settings.tasks
        for reader in (settings.reader if records[task].is_pair else ("bi",))
    ]


def baseline(settings: Settings, records: Mapping[str, Task] = TASKS) -> list[str]:
    """Return the tasks whose frozen bi-encoder is also trained on the untuned encoder.

    This measures the effect of SimCSE. [] if the user names the untuned encoder, or if there is no
    frozen bi-encoder to compare with it.
    """
    if settings.no_baseline or "none" in settings.pretrain or "frozen" not in settings.tune:
        return []
    return [task for task, reader in pairings(settings, records) if reader == "bi"]


def _trainings(
    settings: Settings, records: Mapping[str, Task], model: str, pretrain: str, seed: int
) -> list[Training]:
    """Return the trainings on one encoder."""
    trainings = []
    for tune in settings.tune:
        if tune == "joint":
            for joint in settings.joints:
                for reader in settings.reader:
                    # Single texts too, since these encoders differ.
                    heads = [
                        _head(settings, model, pretrain, task, reader, joint.name, seed)
                        for task in settings.in_order
                    ]
                    trainings.append(Training(tuple(heads), joint))
            continue
        for task, reader in pairings(settings, records):
            if task == "search":
                continue
            if tune == "none" and not _fits_published(records[task], reader, pretrain):
                continue
            for rows in settings.train_rows:
                head = _head(settings, model, pretrain, task, reader, tune, seed, rows)
                trainings.append(Training((head,)))
    if "search" in settings.tasks:
        trainings += _search_trainings(settings, model, pretrain, seed)
    return trainings


def _search_trainings(settings: Settings, model: str, pretrain: str, seed: int) -> list[Training]:
    """Return the readers of a search: bi, whose texts a cross-encoder ranks again, late and cross.

    Only a cross-encoder is trained or published. With `--tune none` alone, the first encoder finds
    the texts, and the others are published cross-encoders.
    """
    published = settings.tune == ("none",) and "cross" in settings.reader
    first = model == next(iter(settings.models))
    heads = []
    if first or not published:
        heads += [("bi", "frozen"), *[("late", "frozen")] * ("late" in settings.reader)]
    if "cross" in settings.reader:
        tunes = [tune for tune in settings.tune if tune != "none" or not first]
        heads += [("cross", tune) for tune in tunes]
    return [
        Training((_head(settings, model, pretrain, "search", reader, tune, seed),))
        for reader, tune in heads
    ]


def _fits_published(task: Task, reader: str, pretrain: str) -> bool:
    """Return whether a published head can be scored: on its untuned encoder, with joined pairs."""
    return pretrain == "none" and (reader == "cross" or not task.is_pair)


def _head(
    settings: Settings,
    model: str,
    pretrain: str,
    task: str,
    reader: str,
    tune: str,
    seed: int,
    train_rows: str = "",
) -> PlannedHead:
    """Return a head of the grid; without `train_rows` it uses all labels."""
    most = ALL if ALL in settings.train_rows else max(settings.train_rows, key=int)
    config = settings.head_config(task, tune, seed)
    if task == "search" and reader != "cross":  # no features: the cosine of two embeddings
        config = replace(config, features="concat")
    cell = Coordinates(
        pretrain=pretrain,
        task=task,
        reader=reader,
        tune=tune,
        features=config.features,
        backbone=settings.models[model],
        model=model,
        data=", ".join(settings.pairs) or settings.data,
        seed=seed,
        train_rows=train_rows or most,
    )
    return PlannedHead(cell, config, settings.rates_to_try(tune), settings.select)
