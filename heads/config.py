"""Settings of single-task and joint head training, and the recipes. Loads no torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runtime.options import option

MOST = 1e12
# The ways to read a pair, with their names, from the cheapest to the most expensive.
READERS = {"bi": "bi-encoder", "late": "late-interaction encoder", "cross": "cross-encoder"}


def with_reader(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored object with the key `reader`, which was called `encoder` up to 1.1."""
    return {"reader": raw["encoder"], **raw} if "encoder" in raw else {**raw}


# What is trained: the head (frozen), the encoder with it (full), or one encoder with the heads of
# all tasks (joint). none: the checkpoint's head is used without training.
TUNES = ("frozen", "full", "joint", "none")
# Candidate encoder rates. The best one depends on the encoder and on how it reads pairs.
RATES = (5e-5, 1.5e-4, 5e-4)
ONE_RATE = ("frozen", "joint", "none")  # tuning modes without this choice
NUM_EPOCHS = {"sst": 10, "para": 5, "sts": 20, "paraphrase": 5, "similarity": 20}  # the report's
NUM_EPOCHS |= {"search": 5}
USUAL_EPOCHS = 10  # for other tasks
# The fewest steps of a tuned encoder, the same for all readers. With 250 labels 12 steps give a
# bi-encoder a Pearson of .689 on STS, 40 steps .743, 80 steps .739: there the curve is flat.
LEAST_STEPS = 80
# The data that decide after how many epochs a head stops.
SELECT = ("train", "dev", "last")

# Joint training: orders of the batches, and what is done against forgetting.
SCHEDULES = ("sequential", "round-robin", "proportional")
REMEDIES = ("replay",)
REPORT_ORDER = ("sst", "sts", "para")  # table 3: the first task is forgotten


@dataclass(frozen=True)
class HeadConfig:
    """How one head, and its encoder unless `tune` leaves it as it is (see TUNES), are trained."""

    tune: str = "frozen"
    features: str = "interaction"
    num_epochs: int = option(10, "head epochs", flag="--head-epochs", least=1, most=MOST)
    batch_size: int = option(64, "head batch size", flag="--head-batch-size", least=1, most=MOST)
    learning_rate: float = option(
        1e-3, "head learning rate", flag="--head-lr", least=1e-12, most=MOST
    )
    # 0 for a frozen encoder.
    backbone_learning_rate: float = option(
        0.0, "encoder learning rate, unless frozen", flag="--backbone-lr", least=0, most=MOST
    )
    # Hidden and attention dropout of the encoder; None is the checkpoint's.
    backbone_dropout: float | None = option(
        None,
        "dropout of the encoder, unless frozen (default: as in the backbone, 0.1)",
        flag="--backbone-dropout",
        least=0,
        most=0.9,
    )
    both_orders: bool = option(
        False, "train on every pair in both orders (twice the rows)", flag="--both-orders"
    )
    dropout: float = 0.1
    weight_decay: float = 0.0
    warmup_ratio: float = option(
        0.0,
        "share of the steps during which the learning rate rises",
        flag="--head-warmup",
        least=0,
        most=1,
    )
    max_grad_norm: float = 1.0
    # Few labels give few steps per epoch: three epochs of 250 labels are 12 steps.
    least_steps: int = option(
        0,
        "minimum number of steps of a tuned cell; few labels are read in more epochs (80; with "
        "--head-epochs 0)",
        flag="--least-steps",
        least=0,
        most=MOST,
    )
    seed: int = 42

    def for_rows(self, rows: int) -> "HeadConfig":
        """Return the settings with enough epochs of `rows` examples for the fewest steps."""
        if not rows or not self.num_epochs:
            return self
        per_epoch = -(-rows // self.batch_size)
        return replace(self, num_epochs=max(self.num_epochs, -(-self.least_steps // per_epoch)))


def head_config(preset: str, tune: str, task: str) -> HeadConfig:
    """Return the recipe of a preset.

    With a frozen encoder all presets follow the report: batch 64, rate 1e-3, 10/5/20 epochs. Tuning
    the encoder follows it too (rate 1e-5 for encoder and head), except in `quick`: three epochs, at
    rates for a small encoder (ten times bert-base's) and a fresh head, and without dropout in the
    encoder, which underfits in that time. With few labels there are more epochs: at least
    LEAST_STEPS steps.
    """
    if tune == "none":  # a published head, unchanged
        return HeadConfig(features="cls", num_epochs=0)
    config = HeadConfig(tune=tune, num_epochs=NUM_EPOCHS.get(task, USUAL_EPOCHS))
    if tune == "frozen":
        return config
    config = replace(config, least_steps=LEAST_STEPS)
    if preset == "quick":
        return replace(
            config,
            num_epochs=3,
            backbone_learning_rate=5e-4,
            backbone_dropout=0.0,
            warmup_ratio=0.1,
        )
    return replace(config, learning_rate=1e-5, backbone_learning_rate=1e-5)


@dataclass(frozen=True)
class JointConfig:
    """The settings of joint training."""

    schedule: str = "proportional"
    remedies: tuple[str, ...] = ()
    replay_share: float = option(
        0.1,
        "replay: share of a later task's batches that are of earlier tasks",
        least=0.001,
        most=0.9,
    )

    @property
    def name(self) -> str:
        """Return the name of the training in cells: `joint-sequential+replay`."""
        return "joint-" + "+".join((self.schedule, *self.remedies))
