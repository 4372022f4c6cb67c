"""The command line of `python -m minbert.pretrain`: flags, their bounds and their help."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from minbert.pretrainer import PretrainConfig

FRESH = ("cooccurrence", "random")
MOST_COUNTED = 32_768  # pieces; the counts of all pairs take 20 GB then
DEFAULTS = PretrainConfig()


class Number(NamedTuple):
    """A flag with a number between two bounds."""

    flag: str
    default: float
    least: float
    most: float
    help: str


NUMBERS = (
    Number("--tokens", DEFAULTS.tokens, 1, 1e15, "tokens seen in all"),
    Number("--length", DEFAULTS.length, 8, 1e5, "tokens a sequence"),
    Number("--batch-size", DEFAULTS.batch_size, 1, 1e6, "sequences a step"),
    Number("--lr", DEFAULTS.learning_rate, 1e-12, 1e3, "peak learning rate"),
    Number("--warmup-steps", DEFAULTS.warmup_steps, 0, 1e9, "steps in which the rate rises"),
    Number("--decay-ratio", DEFAULTS.decay_ratio, 0, 1, "share of the steps in which it falls"),
    Number("--mask-probability", DEFAULTS.mask_probability, 0, 1, "share of tokens to predict"),
    Number("--contrast-weight", DEFAULTS.contrast_weight, 0, 1e6,
           "of the loss by which two spans of a text find each other"),
    Number("--contrast-batch-size", DEFAULTS.contrast_batch_size, 2, 1e6,
           "texts a step that spans are cut from; all others' are negatives"),
    Number("--eval-steps", DEFAULTS.eval_steps, 1, 1e9, "between validations, and saved states"),
    Number("--seed", DEFAULTS.seed, 0, 2**31, "of weights, order and masks"),
)  # fmt: skip
SIZES = (  # of a fresh model; a checkpoint has its own
    Number("--vocab-size", 8192, 6, 1e6, "pieces"),
    Number("--layers", 4, 1, 1000, "layers"),
    Number("--hidden-size", 256, 64, 1e5, "hidden size, a multiple of 64"),
)


def parse_options(argv: Sequence[str] | None, description: str | None) -> argparse.Namespace:
    """Return the options; `--help` and wrong flags end the program here, with 0 and 2."""
    parser = build_parser(description)
    args = parser.parse_args(argv)
    for number in (*NUMBERS, *SIZES):
        value = getattr(args, _name(number))
        if value is not None and not number.least <= value <= number.most:
            parser.error(f"{number.flag} {value}: expected {number.least:g} to {number.most:g}")
    if args.init not in FRESH:
        for flag in ("vocab", *map(_name, SIZES)):
            if getattr(args, flag) is not None:
                parser.error(
                    f"--{flag.replace('_', '-')}: --init {args.init} brings its own; "
                    f"for a new model, --init takes {' or '.join(FRESH)}"
                )
        return args
    for number in SIZES:
        if getattr(args, _name(number)) is None:
            setattr(args, _name(number), number.default)
    if args.hidden_size % 64:
        parser.error(f"--hidden-size {args.hidden_size}: expected a multiple of 64")
    if reason := uncountable(args.init, args.vocab_size):
        parser.error(f"--vocab-size {args.vocab_size}: {reason}")
    return args


def uncountable(init: str, vocab_size: int) -> str | None:
    """Return why a vocabulary is too large to start from counts of co-occurrences, if it is."""
    if init != "cooccurrence" or vocab_size <= MOST_COUNTED:
        return None
    gigabytes = 20 * vocab_size**2 / 1e9
    return f"counts of co-occurrences would need {gigabytes:.0f} GB; take --init random"


def _name(number: Number) -> str:
    return number.flag.removeprefix("--").replace("-", "_")


def build_parser(description: str | None = None) -> argparse.ArgumentParser:
    """Return the command line; sizes that are None are a fresh model's defaults."""
    parser = argparse.ArgumentParser(
        prog="python -m minbert.pretrain",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--corpus", nargs="+", type=Path, required=True, metavar="FILE",
                        help="text, a paragraph a line, documents apart by an empty line; "
                             ".xz, .gz and .bz2 too")  # fmt: skip
    parser.add_argument("--valid", type=Path, required=True, metavar="FILE", help="held-out text")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the checkpoint")
    parser.add_argument(
        "--init",
        default="cooccurrence",
        metavar="HOW",
        help="where a new model's word embeddings start: cooccurrence (factorised counts) or "
        "random; or a checkpoint to go on from: mini, a folder, a hub id (cooccurrence)",
    )
    parser.add_argument(
        "--vocab", type=Path, metavar="FILE", help="a vocab.txt to use instead of training one"
    )
    for number in NUMBERS:
        kind, shown = type(number.default), f"{number.help} ({number.default})"
        parser.add_argument(number.flag, type=kind, default=number.default, metavar="X", help=shown)
    for number in SIZES:
        shown = f"{number.help} ({number.default})"
        parser.add_argument(number.flag, type=int, metavar="X", help=shown)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto")
    parser.add_argument("--resume", action="store_true", help="go on where a run stopped")
    return parser
