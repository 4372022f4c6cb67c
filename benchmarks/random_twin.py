"""An encoder's random twin: what its architecture and tokenizer give without any training.

python -m benchmarks.random_twin mini --out random-mini
python run_multitask.py --backbone random-mini --task sts
"""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minbert.encoder import SentenceEncoder
from minbert.model import BertModel
from runtime.options import option, parse
from runtime.seeds import set_seed


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    encoder: str = option(
        help="mini, a folder, a hub id", flag="encoder", metavar="ENCODER", required=True
    )
    out: Path = option(help="the checkpoint", metavar="DIR", required=True)
    seed: int = option(0, "of the weights", least=0, most=2**31)


def random_twin(encoder: SentenceEncoder, seed: int = 0) -> SentenceEncoder:
    """Return an encoder of the same sizes, tokenizer and pooling with fresh weights."""
    set_seed(seed)
    model = BertModel(encoder.model.config, encoder.model.pooler is not None)
    twin = SentenceEncoder(model, encoder.tokenizer, encoder.pooling, str(encoder.device))
    twin.max_length = encoder.max_length
    return twin


def main(argv: Sequence[str] | None = None) -> int:
    """Write the twin of a checkpoint; return 0, or 2 where there is none."""
    options = parse(Options, argv, prog="python -m benchmarks.random_twin", description=__doc__)
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Write the twin, and say where it is."""
    encoder = SentenceEncoder.from_pretrained(options.encoder)
    random_twin(encoder, options.seed).save(options.out)
    print(f"random twin of {options.encoder}: {options.out}")


if __name__ == "__main__":
    sys.exit(main())
