"""The settings of a pre-training run, and the command line made of them; no heavy imports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.errors import UserError
from runtime.options import check, option

FRESH = ("cooccurrence", "random")
MOST_COUNTED = 32_768  # pieces, whose pair counts take 20 GB
NO_DROPOUT: Any = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
SHORTEST, LONGEST = 8, 32  # tokens that are cut from a row, as many as a sentence has
MOST_LEFT_OUT = 6  # at most one token in so many is left out of a twin


@dataclass(frozen=True)
class PretrainConfig:
    """How one pre-training run trains."""

    tokens: int = option(200_000_000, "tokens to train on, without padding", least=1, most=1e15)
    length: int = option(128, "tokens per sequence", least=8, most=1e5)
    batch_size: int = option(64, "sequences per step", least=1, most=1e6)
    learning_rate: float = option(1e-3, "peak learning rate", flag="--lr", least=1e-12, most=1e3)
    warmup_steps: int = option(500, "steps during which the rate rises", least=0, most=1e9)
    # Until the rate falls, a run can still be extended.
    decay_ratio: float = option(0.2, "share of the steps during which it falls", least=0, most=1)
    mask_probability: float = option(0.15, "share of tokens to predict", least=0, most=1)
    contrast_weight: float = option(
        0.0, "weight of the loss that lets two spans of a text find each other", least=0, most=1e6
    )
    contrast_batch_size: int = option(
        64, "texts per step that spans are cut from; the others are negatives", least=2, most=1e6
    )
    twin_weight: float = option(
        0.0, "weight of the loss of pairs: is the second text the first, edited?", least=0, most=1e6
    )
    twin_batch_size: int = option(64, "pairs per step", least=2, most=1e6)
    eval_steps: int = option(500, "steps between validations and saved states", least=1, most=1e9)
    seed: int = option(42, "seed of weights, order and masks", least=0, most=2**31)
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    valid_rows: int = 512
    init: str = "cooccurrence"  # what the weights start from

    @property
    def tokens_per_step(self) -> int:
        """Return the tokens per step; with spans or pairs, their average."""
        tokens = self.batch_size * self.length
        # The sum of both bounds is twice their mean: the tokens of two spans, or of two segments.
        if self.contrast_weight:  # two spans, each with [CLS] and [SEP]
            tokens += self.contrast_batch_size * (sum(cut_bounds(self.length)) + 4)
        if self.twin_weight:  # [CLS] a [SEP] b [SEP], with some of b left out
            cut = sum(cut_bounds(self.length - 1))
            tokens += self.twin_batch_size * (cut + 3 - cut // (4 * MOST_LEFT_OUT))
        return tokens


def cut_bounds(row: int) -> tuple[int, int]:
    """Return the least and most tokens that are cut from a row: at most half of what it holds."""
    # Half of the row, so that two spans need not overlap.
    longest = min(LONGEST, (row - 2) // 2)
    return min(SHORTEST, longest), longest


@dataclass(frozen=True)
class Sizes:
    """The shape of a new model; a checkpoint has its own."""

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
        "cooccurrence",
        "where a new model's word embeddings start: cooccurrence (factorised counts) or random; or "
        "a checkpoint to continue from: mini, a folder, a hub id",
        metavar="HOW",
    )
    vocab: Path | None = option(None, "a vocab.txt to use instead of training one", metavar="FILE")
    config: dict[str, Any] = option({}, nested=PretrainConfig, show_defaults=True)
    sizes: dict[str, Any] = option({}, nested=Sizes, show_defaults=True)
    device: str = option("auto", "auto: a GPU if there is one", choices=("auto", "cpu", "cuda"))
    precision: str = option("auto", "of matrix products", choices=("auto", "float32", "bfloat16"))
    resume: bool = option(False, "continue an interrupted run, or extend a finished one")

    def __post_init__(self) -> None:
        """Check the options against each other.

        Raises:
            UserError: a checkpoint with sizes of a new model, or impossible sizes.
        """
        check(self)
        if self.init not in FRESH:
            brought = [name for name in ("vocab",) if self.vocab] + list(self.sizes)
            for name in brought:
                flag = "layers" if name == "num_hidden_layers" else name.replace("_", "-")
                raise UserError(
                    f"--{flag}: --init {self.init} brings its own; "
                    f"for a new model, --init takes {' or '.join(FRESH)}"
                )
        shape = Sizes(**self.sizes)
        if shape.hidden_size % 64:
            raise UserError(f"--hidden-size {shape.hidden_size}: expected a multiple of 64")
        if reason := uncountable(self.init, shape.vocab_size):
            raise UserError(f"--vocab-size {shape.vocab_size}: {reason}")


def uncountable(init: str, vocab_size: int) -> str | None:
    """Return why a vocabulary is too large to start from co-occurrence counts, if it is."""
    if init != "cooccurrence" or vocab_size <= MOST_COUNTED:
        return None
    gigabytes = 20 * vocab_size**2 / 1e9
    return f"co-occurrence counts would need {gigabytes:.0f} GB; take --init random"
