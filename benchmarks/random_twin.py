"""An encoder's random twin: what its architecture and tokenizer give without any training.

python -m benchmarks.random_twin mini --out random-mini
python run_multitask.py --backbone random-mini --task sts
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from minbert.runtime import set_seed

from minbert.encoder import SentenceEncoder
from minbert.model import BertModel


def random_twin(encoder: SentenceEncoder, seed: int = 0) -> SentenceEncoder:
    """Return an encoder of the same sizes, tokenizer and pooling with fresh weights."""
    set_seed(seed)
    model = BertModel(encoder.model.config, encoder.model.pooler is not None)
    twin = SentenceEncoder(model, encoder.tokenizer, encoder.pooling, str(encoder.device))
    twin.max_length = encoder.max_length
    return twin


def main(argv: Sequence[str] | None = None) -> int:
    """Write the twin of a checkpoint; return 0, or 2 where there is none."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.random_twin",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("encoder", help="mini, a folder, a hub id")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the checkpoint")
    parser.add_argument("--seed", type=int, default=0, help="of the weights (0)")
    args = parser.parse_args(argv)
    try:
        random_twin(SentenceEncoder.from_pretrained(args.encoder), args.seed).save(args.out)
    except (ValueError, OSError) as error:  # no checkpoint, or no seed
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"random twin of {args.encoder}: {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
