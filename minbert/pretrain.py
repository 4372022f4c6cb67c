"""Masked-language-model pre-training from scratch, on your own text.

    python -m minbert.pretrain --corpus articles*.txt.xz --valid held_out.txt --out my-bert
    python -m minbert.pretrain --corpus articles*.txt.xz --valid held_out.txt --out my-bert --resume

The result is an ordinary checkpoint: `python run_multitask.py --backbone my-bert ...`. The recipe
follows what "Cramming" (Geiping and Goldstein 2023) found to matter at small compute: short packed
sequences, no dropout, a high peak rate that decays to zero, one pass over as much text as there is.
"""

import sys
from collections.abc import Sequence

from minbert.pretraining.options import GONE, PretrainOptions
from runtime.commands import INTERRUPTED, begin, exit_code
from runtime.options import parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    program = "python -m minbert.pretrain"
    options = parse(PretrainOptions, argv, prog=program, description=__doc__, gone=GONE)
    return exit_code(lambda: work(options), INTERRUPTED)


def work(options: PretrainOptions) -> None:
    """Pre-train; heavy imports happen here."""
    from minbert.pretraining.run import run

    run(options)


if __name__ == "__main__":
    begin(INTERRUPTED)
    sys.exit(main())
