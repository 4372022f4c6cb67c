"""Whether products in int8 would pay for encoding on a CPU: time, cosines and STS Spearman.

    OMP_NUM_THREADS=1 python -m benchmarks.int8 CHECKPOINT [--data cs224n] [--count 400]

Weights are quantised by row, states by batch as they come, by PyTorch's oneDNN engine; results come
back in bfloat16. The CPU time of the process is measured, in turns, the median of five.
"""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.material import sentences
from benchmarks.works.encode import correlation
from data.fetch.locate import data_folder
from data.tasks import read_task
from evaluation.sts import pair_cosines
from minbert.encoder import SentenceEncoder
from minbert.fast.linear import keepers
from runtime.options import option, parse

ROUNDS = 5


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    checkpoint: str = option(
        help="a folder, a hub id or mini", flag="checkpoint", metavar="CHECKPOINT", required=True
    )
    data: str | None = option(None, "CS224N files (bundled data)", metavar="DIR")
    count: int = option(400, "sentences to encode", least=1, most=1_000_000)


class Int8Weights:
    """Stands where `minbert.fast.linear.KeptWeights` does."""

    def __init__(self, *layers: nn.Linear):
        weight = torch.cat([layer.weight.detach() for layer in layers])
        self.bias = torch.cat([layer.bias.detach() for layer in layers])
        self.scales = weight.abs().amax(dim=1) / 127
        self.zeros = torch.zeros(len(weight), dtype=torch.int64)
        rows = (weight / self.scales[:, None]).round().to(torch.int8)
        self.rows = torch.ops.onednn.qlinear_prepack(rows, [4096, weight.shape[1]])

    def are_of(self, *layers: nn.Linear) -> bool:
        """Return True: nothing changes the weights here."""
        return True

    def __call__(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features) bfloat16 from states that share one scale."""
        low, high = (float(bound) for bound in x.aminmax())
        scale = (high - low) / 255
        zero = round(-low / scale)
        # PyTorch deprecates this operator, which is ten times as fast as the same in simple ones.
        states = torch.quantize_per_tensor(x.float(), scale, zero, torch.quint8).int_repr()
        activation: tuple[str, list[Any], str]
        activation = ("gelu", [], "none") if gelu else ("none", [], "")
        weights = (self.rows, self.scales, self.zeros, self.bias)
        output: Tensor = torch.ops.onednn.qlinear_pointwise(
            states, scale, zero, *weights, 1.0, 0, torch.bfloat16, *activation
        )
        return output


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per precision; return an exit code."""
    options = parse(Options, argv, prog="python -m benchmarks.int8", description=__doc__)
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Measure, and print a line per precision."""
    warnings.filterwarnings("ignore", message=".*quantize_per_tensor")
    texts = sentences(options.data, options.count)
    encoders = {
        name: SentenceEncoder.from_pretrained(options.checkpoint, None, "cpu", precision)
        for name, precision in (("bfloat16", "bfloat16"), ("int8", "bfloat16"))
    }
    for keeper in keepers(encoders["int8"].model):
        # It has all that a keeper asks of its weights, and is no subclass of theirs.
        keeper.spare = Int8Weights(*keeper.kept_layers())  # type: ignore[assignment]
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
