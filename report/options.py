"""The command line of run_multitask.py: flags and their help, no work and no heavy imports."""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

Group = argparse._ArgumentGroup

DESCRIPTION = """Tune a BERT with SimCSE, freeze it, train heads for sentiment, paraphrase and
similarity, and compare bi- with cross-encoders: accuracy, F1, Pearson, Spearman, and cost."""

EPILOG = """examples:
  with what comes along, in two minutes and in seven:
    python run_multitask.py --pretrain sup --task sts
    python run_multitask.py --pretrain none unsup sup --task all --encoder bi cross
  the report's table 1, with the original BERT on the original data:
    python -m data.download cs224n wiki1m nli
    python run_multitask.py --pretrain none unsup sup --task all --encoder bi cross \\
        --backbone bert-base-uncased --data cs224n --preset report --features concat
  two processes, or two GPUs; batches are shared, negatives are common:
    torchrun --nproc_per_node 2 run_multitask.py --pretrain sup --task sts
  your own folders and files:
    python run_multitask.py --backbone path/to/bert --data path/to/cs224n \\
        --pretrain sup --sup-data path/to/triplets.csv --task sts --encoder bi cross

The same command again reuses finished cells, tuned backbones and cached embeddings.
Exit codes: 0 done, 2 wrong input, 130 interrupted (add --resume to go on), 1 a bug of ours."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line; every default that is None comes from the preset."""
    parser = argparse.ArgumentParser(
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_grid(parser.add_argument_group("what to compare (several values make a grid)"))
    _add_sources(parser.add_argument_group("where things come from"))
    _add_recipe(parser.add_argument_group("how (a preset first, then single values over it)"))
    _add_machine(parser.add_argument_group("machine and run folder"))
    return parser


def _add_grid(group: Group) -> None:
    group.add_argument(
        "--pretrain",
        nargs="+",
        choices=["none", "unsup", "sup"],
        default=["none"],
        help="contrastive stage: none, SimCSE on sentences, SimCSE on triplets (none)",
    )
    group.add_argument(
        "--task",
        nargs="+",
        choices=["sst", "para", "sts", "all"],
        default=["sst"],
        help="sentiment in 5 classes, paraphrase yes/no, similarity 0-5 (sst)",
    )
    group.add_argument(
        "--encoder",
        nargs="+",
        choices=["bi", "cross"],
        default=["bi"],
        help="two texts encoded apart, or as one joined pair; sst is always bi (bi)",
    )
    group.add_argument(
        "--tune",
        choices=["frozen", "full"],
        default="frozen",
        help="train the head only, or head and encoder together (frozen)",
    )
    group.add_argument(
        "--features",
        choices=["interaction", "concat"],
        default="interaction",
        help="what the head sees: [u; v; |u-v|; u*v] (cross: [CLS] and the same of both halves), "
        "or the report's [u; v] (cross: [CLS])",
    )
    group.add_argument(
        "--seeds",
        type=_count,
        default=1,
        metavar="N",
        help="repeat with N seeds; the table gives mean and deviation (1)",
    )
    group.add_argument("--seed", type=_seed, default=42, help="the first seed (42)")


def _add_sources(group: Group) -> None:
    group.add_argument(
        "--backbone",
        default="mini",
        help="mini, the small BERT that comes along; a checkpoint folder; or a hub id such as "
        "bert-base-uncased (mini)",
    )
    group.add_argument(
        "--data",
        default="bundled",
        help="bundled, a made data set; cs224n, the course's, fetched if absent; or a folder of "
        "files in CS224N's formats (bundled)",
    )
    group.add_argument(
        "--unsup-data",
        metavar="FILE",
        help="sentences, one a line (wiki1m_for_simcse.txt in the data folder)",
    )
    group.add_argument(
        "--sup-data",
        metavar="FILE",
        help="sent0,sent1,hard_neg CSV (nli_for_simcse.csv in the data folder)",
    )


def _add_recipe(group: Group) -> None:
    group.add_argument(
        "--preset",
        choices=["quick", "report", "paper"],
        default="quick",
        help="quick: minutes on a laptop, at rates for a small encoder; report, paper: as "
        "published (quick)",
    )
    group.add_argument(
        "--pooling",
        choices=["cls", "cls_before_pooler", "avg", "avg_top2", "avg_first_last"],
        help="from token states to a vector: what the checkpoint says, else SimCSE's [CLS]",
    )
    _add_simcse(group)
    _add_head(group)


def _add_simcse(group: Group) -> None:
    group.add_argument(
        "--symmetric",
        dest="simcse_symmetric",
        action="store_true",
        default=None,
        help="NT-Xent: both views look for their partner",
    )
    simcse = partial(_add_setting, group, "simcse")
    simcse(
        "--simcse-steps",
        "max_steps",
        positive,
        "contrastive steps at most (quick: 200 unsup, 160 sup, unless epochs are given)",
    )
    simcse("--simcse-epochs", "num_epochs", positive, "contrastive epochs (1; sup but quick: 3)")
    simcse(
        *("--simcse-batch-size", "batch_size", positive),
        "examples a contrastive batch; the others are negatives (64; sup: report 128, paper 512)",
    )
    simcse(
        *("--simcse-lr", "learning_rate", _rate),
        "contrastive learning rate (quick: 3e-4; else 3e-5 unsup, 5e-5 sup)",
    )
    simcse("--simcse-max-length", "max_length", _length, "longest sentence there, in tokens (32)")
    simcse(
        *("--chunk-tokens", "chunk_tokens", positive),
        "gradient caching: encode at most this many tokens at a time, "
        "so that a batch of any size fits (the whole batch; 4096 needs 4 GB with bert-base)",
    )
    group.add_argument(
        "--compile",
        dest="simcse_compile",
        action="store_true",
        default=None,
        help="contrastive stage on a GPU: fuse elementwise work by torch.compile (not measured; "
        "not together with --chunk-tokens)",
    )
    simcse(
        *("--eval-steps", "eval_steps", positive),
        "steps between dev checks; the best is kept (quick: 50 unsup, 40 sup; else 125)",
    )
    simcse("--temperature", "temperature", _rate, "of the contrastive loss (0.05)")
    simcse(
        *("--hard-negative-weight", "hard_negative_weight", _rate),
        "alpha of the own hard negative (1: like all others)",
    )
    simcse(
        *("--mlm-weight", "mlm_weight", _rate),
        "of the auxiliary masked-language-model loss (0 in every preset; the paper tried 0.1)",
    )


def _add_head(group: Group) -> None:
    head = partial(_add_setting, group, "head")
    head(
        *("--head-epochs", "num_epochs", positive),
        "epochs of a head (10 sst, 5 para, 20 sts; quick with --tune full: 3)",
    )
    head("--head-batch-size", "batch_size", positive, "its batch size (64)")
    head(
        *("--head-lr", "learning_rate", _rate),
        "its learning rate (1e-3; report, paper with --tune full: 1e-5)",
    )
    head(
        *("--backbone-lr", "backbone_learning_rate", _rate),
        "the encoder's under --tune full (quick: 5e-4; else 1e-5)",
    )


def _add_setting(
    group: Group, stage: str, flag: str, field: str, kind: Callable[[str], float], text: str
) -> None:
    """Add a single value; where it is kept says which stage's settings it belongs to."""
    group.add_argument(flag, dest=f"{stage}_{field}", type=kind, metavar="X", help=text)


def given_settings(args: argparse.Namespace, stage: str) -> dict[str, Any]:
    """Return the values given for a stage, `simcse` or `head`, by field."""
    given = {name: value for name, value in vars(args).items() if value is not None}
    prefix = f"{stage}_"
    return {name.removeprefix(prefix): given[name] for name in given if name.startswith(prefix)}


def _add_machine(group: Group) -> None:
    group.add_argument(
        "--device", choices=["auto", "cpu", "cuda"], default="auto", help="auto: a GPU if any"
    )
    group.add_argument(
        "--precision",
        choices=["auto", "float32", "bfloat16"],
        default="auto",
        help="of matrix products; auto: bfloat16 where the hardware has it",
    )
    group.add_argument(
        "--threads", type=_count, metavar="N", help="CPU threads (all; under torchrun 1 a process)"
    )
    group.add_argument(
        "--run-dir", metavar="DIR", help="where results go (runs/<name made of the settings>)"
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on where an interrupted run of this command stopped",
    )
    group.add_argument("--dry-run", action="store_true", help="print the plan and stop")


def _number(text: str, kind: Callable[[str], float], least: float, most: float) -> Any:
    """Return the number a flag was given, if it lies between `least` and `most`."""
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        noun = "a whole number" if kind is int else "a number"
        raise argparse.ArgumentTypeError(f"{text!r}: expected {noun} from {least:g} to {most:g}")
    return value


def positive(text: str) -> int:
    """Return a whole number of at least 1, or end the program with what is wrong."""
    return int(_number(text, int, 1, 1e12))


def _count(text: str) -> int:
    return int(_number(text, int, 1, 1000))


def _length(text: str) -> int:
    # At least one piece between [CLS] and [SEP].
    return int(_number(text, int, 3, 1e6))


def _seed(text: str) -> int:
    return int(_number(text, int, 0, 2**31))


def _rate(text: str) -> float:
    return float(_number(text, float, 1e-12, 1e12))


def parse_options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options; `--help` and wrong flags end the program here, with 0 and 2."""
    return build_parser().parse_args(argv)
