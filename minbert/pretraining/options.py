"""The settings of a pre-training run, and the command line made of them; no heavy imports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.errors import UserError
from runtime.options import check, option

NO_DROPOUT: Any = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
FRESH = "random"  # of --init: a new model
GONE = dict.fromkeys(
    ("--contrast-weight", "--contrast-batch-size", "--twin-weight", "--twin-batch-size"),
    "leave it out to train only on masked words, or use version 1.0.0",
)


@dataclass(frozen=True)
class PretrainConfig:
    """How one pre-training run trains."""

    tokens: int = option(200_000_000, "tokens to train on, without padding", least=1, most=1e15)
    length: int = option(128, "tokens per sequence", least=8, most=1e5)
    batch_size: int = option(64, "sequences per step", least=1, most=1e6)
    learning_rate: float = option(1e-3, "peak learning rate", flag="--lr", least=1e-12, most=1e3)
    warmup_steps: int = option(500, "steps during which the learning rate rises", least=0, most=1e9)
    # Until the rate falls, a run can still be extended.
    decay_ratio: float = option(
        0.2, "share of the steps during which the learning rate falls", least=0, most=1
    )
    mask_probability: float = option(0.15, "share of tokens to predict", least=0, most=1)
    eval_steps: int = option(500, "steps between validations and saved states", least=1, most=1e9)
    seed: int = option(42, "seed of weights, order and masks", least=0, most=2**31)
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    valid_rows: int = 512
    init: str = FRESH  # initial weights

    @property
    def tokens_per_step(self) -> int:
        return self.batch_size * self.length


@dataclass(frozen=True)
class Sizes:
    """The shape of a new model; a loaded checkpoint keeps its shape."""

    vocab_size: int = option(8192, "pieces of a new model's vocabulary", least=6, most=1e6)
    num_hidden_layers: int = option(4, "layers of a new model", flag="--layers", least=1, most=1000)
    hidden_size: int = option(
        256, "hidden size of a new model, a multiple of 64", least=64, most=1e5
    )


@dataclass(frozen=True)
class PretrainOptions:
    """The command line of `python -m minbert.pretrain`."""

    corpus: tuple[Path, ...] = option(
        help="text, a paragraph per line, an empty line between documents; .xz, .gz and .bz2 too",
        metavar="FILE",
        required=True,
    )
    valid: Path = option(help="held-out text", metavar="FILE", required=True)
    out: Path = option(help="the checkpoint", metavar="DIR", required=True)
    init: str = option(
        FRESH,
        "initial weights: random (a new model), or a checkpoint to continue from: "
        "mini, a folder, a hub ID",
        metavar="HOW",
    )
    vocab: Path | None = option(None, "a vocab.txt to use instead of training one", metavar="FILE")
    config: dict[str, Any] = option({}, nested=PretrainConfig, show_defaults=True)
    sizes: dict[str, Any] = option({}, nested=Sizes, show_defaults=True)
    device: str = option("auto", "auto: a GPU if there is one", choices=("auto", "cpu", "cuda"))
    precision: str = option(
        "auto", "precision of matrix products", choices=("auto", "float32", "bfloat16")
    )
    resume: bool = option(False, "continue an interrupted run, or extend a finished one")

    def __post_init__(self) -> None:
        check(self)
        if self.init == "cooccurrence":  # the default of version 1.0
            raise UserError(
                f"--init cooccurrence was removed in 1.1: word embeddings start at random "
                f"(--init {FRESH})"
            )
        if self.init != FRESH and (self.vocab or self.sizes):
            raise UserError(
                f"--init {self.init} comes with its vocabulary and sizes; for a new model, "
                f"use --init {FRESH}"
            )
        size = Sizes(**self.sizes).hidden_size
        if size % 64:
            raise UserError(f"--hidden-size {size}: expected a multiple of 64")
