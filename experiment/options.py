"""The command line of run_multitask.py, made of Settings; no work and no heavy imports."""

import argparse
from collections.abc import Sequence

from experiment.settings import Settings
from runtime import options

DESCRIPTION = """Tune a BERT with SimCSE, freeze it, train heads for sentiment, paraphrase and
similarity, and compare bi- with cross-encoders: accuracy, F1, Pearson, Spearman, and cost."""

EPILOG = """examples:
  with what ships with the project, in two minutes and in seven:
    python run_multitask.py --pretrain sup --task sts
    python run_multitask.py --pretrain none unsup sup --task all --encoder bi cross
  the report's table 1, with the original BERT on the original data:
    python -m data.download cs224n wiki1m nli
    python run_multitask.py --pretrain none unsup sup --task all --encoder bi cross \\
        --backbone bert-base-uncased --data cs224n --preset report --features concat
  two processes, or two GPUs; batches are split, negatives are shared:
    torchrun --nproc_per_node 2 run_multitask.py --pretrain sup --task sts
  your own folders and files:
    python run_multitask.py --backbone path/to/bert --data path/to/cs224n \\
        --pretrain sup --sup-data path/to/triplets.csv --task sts --encoder bi cross

The same command again reuses finished cells, tuned backbones and cached embeddings.
Exit codes: 0 done, 2 wrong input, 130 interrupted (--resume continues), 1 a bug in this project."""

ABOUT = {"description": DESCRIPTION, "epilog": EPILOG}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    return options.build_parser(Settings, **ABOUT)


def parse_options(argv: Sequence[str] | None = None) -> Settings:
    """Return the settings; `--help` and wrong flags end the program here, with codes 0 and 2."""
    return options.parse(Settings, argv, **ABOUT)
