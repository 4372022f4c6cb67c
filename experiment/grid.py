"""The grid: which trainings a run consists of, and which heads each of them yields."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from data.tasks import TASKS
from experiment.settings import Settings
from heads.config import JointConfig
from report.cell import ALL, Coordinates


@dataclass(frozen=True)
class Training:
    """One training and its heads: one head, unless several tasks share a training (`joint`)."""

    heads: tuple[Coordinates, ...]
    joint: JointConfig | None = None

    @property
    def name(self) -> str:
        """Return the name of its encoder, `none-sst+sts-bi-joint-annealed-interaction-42`."""
        return replace(self.heads[0], task="+".join(head.task for head in self.heads)).name

    @property
    def frozen(self) -> bool:
        """Return whether the encoder under the heads stays as it is."""
        return self.heads[0].tune in ("frozen", "none")


def pairings(settings: Settings) -> list[tuple[str, str]]:
    """Return every task with each encoder that can read it; a single text is read by bi only."""
    return [
        (task, encoder)
        for task in settings.tasks
        for encoder in (settings.encoder if TASKS[task].is_pair else ("bi",))
    ]


def fits_published(task: str, encoder: str, pretrain: str) -> bool:
    """Return whether a published head can be scored there: on its own encoder, pairs joined."""
    return pretrain == "none" and (encoder == "cross" or not TASKS[task].is_pair)


def baseline(settings: Settings) -> list[str]:
    """Return the tasks whose frozen bi-encoder is trained on the untuned encoder, too.

    That tells what SimCSE changed. [] where the user names the untuned encoder, or where no frozen
    bi-encoder could be compared with it.
    """
    if settings.no_baseline or "none" in settings.pretrain or "frozen" not in settings.tune:
        return []
    return [task for task, encoder in pairings(settings) if encoder == "bi"]


def stages(settings: Settings) -> tuple[str, ...]:
    """Return the contrastive stages of a run in their order, the baseline's `none` first."""
    return ("none", *settings.pretrain) if baseline(settings) else settings.pretrain


def trainings(settings: Settings, pretrain: str, seed: int) -> Iterator[Training]:
    """Yield the trainings on one backbone."""

    def head(task: str, encoder: str, tune: str, rows: str = ALL) -> Coordinates:
        return Coordinates(
            pretrain=pretrain,
            task=task,
            encoder=encoder,
            tune=tune,
            features="cls" if tune == "none" else settings.features,
            backbone=settings.backbone,
            data=settings.data,
            seed=seed,
            train_rows=rows,
        )

    if pretrain not in settings.pretrain:
        # Verdicts are on the most labels.
        most = ALL if ALL in settings.train_rows else max(settings.train_rows, key=int)
        yield from (Training((head(task, "bi", "frozen", most),)) for task in baseline(settings))
        return
    for tune in settings.tune:
        if tune != "joint":
            for task, encoder in pairings(settings):
                if tune != "none" or fits_published(task, encoder, pretrain):
                    for rows in settings.train_rows:
                        yield Training((head(task, encoder, tune, rows),))
            continue
        for joint in settings.joints:
            for encoder in settings.encoder:
                # Single texts too, of which each of these encoders makes something else.
                heads = (head(task, encoder, joint.name) for task in settings.in_order)
                yield Training(tuple(heads), joint)
