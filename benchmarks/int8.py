"""What encoding in int8 gains over bfloat16 on a CPU, and loses: time, cosines, STS Spearman.

    OMP_NUM_THREADS=1 python -m benchmarks.int8 CHECKPOINT [--data cs224n] [--count 400]

The CPU time of the process is measured, in turns, the median of ten after one that warms up.
Cosines are those with float32's embeddings.
"""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.material import sentences
from benchmarks.works.encode import correlation
from data.locate import data_folder
from data.tasks import read_task
from evaluation.sts import pair_cosines
from minbert.encoder import SentenceEncoder
from runtime.options import option, parse

ROUNDS = 10


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    checkpoint: str = option(
        help="a folder, a hub id or mini", flag="checkpoint", metavar="CHECKPOINT", required=True
    )
    data: str | None = option(None, "CS224N files (bundled data)", metavar="DIR")
    count: int = option(400, "sentences to encode", least=1, most=1_000_000)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per precision; return an exit code."""
    options = parse(Options, argv, prog="python -m benchmarks.int8", description=__doc__)
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Measure, and print a line per precision."""
    texts = sentences(options.data, options.count)
    encoders = {
        name: SentenceEncoder.from_pretrained(options.checkpoint, None, "cpu", name)
        for name in ("bfloat16", "int8")
    }
    exact = SentenceEncoder.from_pretrained(options.checkpoint, None, "cpu", "float32")
    expected = exact.encode(texts)
    seconds: dict[str, list[float]] = {name: [] for name in encoders}
    for _ in range(ROUNDS + 1):
        for name, encoder in encoders.items():
            started = time.process_time()
            encoder.encode(texts)
            seconds[name].append(time.process_time() - started)
    pairs = read_task(data_folder(options.data or "bundled"), "sts").dev
    for name, encoder in encoders.items():
        taken = median(seconds[name][1:])
        found = pair_cosines(encoder.encode(texts), expected)
        print(
            f"{name}: {options.count / taken:.0f} sentences/s, "
            f"{median(seconds['bfloat16'][1:]) / taken:.2f} times bfloat16, cosine with float32 "
            f"{np.mean(found):.4f} (least {found.min():.4f}), "
            f"STS dev {correlation(encoder.encode, pairs):.4f}"
        )
    print(f"float32: STS dev {correlation(exact.encode, pairs):.4f}")


if __name__ == "__main__":
    sys.exit(main())
