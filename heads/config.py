"""Settings of head training and its recipes. Feeds: heads.train."""

from dataclasses import dataclass, replace

TASKS = ("sst", "para", "sts")
NUM_EPOCHS = {"sst": 10, "para": 5, "sts": 20}  # the report's


@dataclass(frozen=True)
class HeadConfig:
    """How one head (and, with `tune="full"`, its encoder) is trained."""

    tune: str = "frozen"
    features: str = "interaction"
    batch_size: int = 64
    learning_rate: float = 1e-3
    backbone_learning_rate: float = 0.0  # 0 for a frozen encoder
    num_epochs: int = 10
    dropout: float = 0.1
    weight_decay: float = 0.0
    warmup_ratio: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 42


def head_config(preset: str, tune: str, task: str) -> HeadConfig:
    """Return a recipe.

    Frozen, all presets follow the report: batch 64, rate 1e-3, 10/5/20 epochs. Full tuning follows
    the report (rate 1e-5 for encoder and head alike) except in `quick`, where three epochs at
    rates that suit a small encoder (ten times bert-base's) and a fresh head go further.
    """
    config = HeadConfig(tune=tune, num_epochs=NUM_EPOCHS[task])
    if tune == "frozen":
        return config
    if preset == "quick":
        return replace(config, num_epochs=3, backbone_learning_rate=5e-4, warmup_ratio=0.1)
    return replace(config, learning_rate=1e-5, backbone_learning_rate=1e-5)
