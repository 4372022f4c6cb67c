"""Settings of head training and its recipes. Feeds: heads.training, experiment."""

from dataclasses import dataclass, replace

from runtime.options import option

MOST = 1e12
NUM_EPOCHS = {"sst": 10, "para": 5, "sts": 20}  # the report's
USUAL_EPOCHS = 10  # of other tasks


@dataclass(frozen=True)
class HeadConfig:
    """How one head (and, with `tune="full"`, its encoder) is trained."""

    tune: str = "frozen"
    features: str = "interaction"
    num_epochs: int = option(10, "epochs of a head", flag="--head-epochs", least=1, most=MOST)
    batch_size: int = option(64, "its batch size", flag="--head-batch-size", least=1, most=MOST)
    learning_rate: float = option(
        1e-3, "its learning rate", flag="--head-lr", least=1e-12, most=MOST
    )
    # 0 for a frozen encoder.
    backbone_learning_rate: float = option(
        0.0, "the encoder's under --tune full", flag="--backbone-lr", least=0, most=MOST
    )
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
    config = HeadConfig(tune=tune, num_epochs=NUM_EPOCHS.get(task, USUAL_EPOCHS))
    if tune == "frozen":
        return config
    if preset == "quick":
        return replace(config, num_epochs=3, backbone_learning_rate=5e-4, warmup_ratio=0.1)
    return replace(config, learning_rate=1e-5, backbone_learning_rate=1e-5)
