"""Whether products in int8 would pay for encoding on a CPU: time, cosines and STS Spearman.

    OMP_NUM_THREADS=1 python -m benchmarks.int8 CHECKPOINT [--data cs224n] [--count 400]

Weights are quantised by row, states by batch as they come, by PyTorch's oneDNN engine; results come
back in bfloat16. The CPU time of the process is measured, in turns, the median of five.
"""

import argparse
import time
import warnings
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.material import sentences
from benchmarks.works.encode import cosines
from data.fetch.locate import data_folder
from data.tasks import read_task
from evaluation.sts import sts_metrics
from minbert.encoder import SentenceEncoder
from minbert.fast.linear import keepers

ROUNDS = 5


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


def main() -> None:
    """Print a line per precision."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkpoint", help="a folder, a hub id or mini")
    parser.add_argument("--data", default=None, help="the data's folder; made sentences without")
    parser.add_argument("--count", type=int, default=400, help="sentences to encode")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*quantize_per_tensor")
    texts = sentences(options.data, options.count)
    encoders = {
        name: SentenceEncoder.from_pretrained(options.checkpoint, None, "cpu", precision)
        for name, precision in (("bfloat16", "bfloat16"), ("int8", "bfloat16"))
    }
    for keeper in keepers(encoders["int8"].model):
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
        found = cosines(encoder.encode(texts), expected)
        print(
            f"{name}: {options.count / taken:.0f} sentences/s, "
            f"{median(seconds['bfloat16'][1:]) / taken:.2f} times bfloat16, cosine with float32 "
            f"{np.mean(found):.4f} (least {found.min():.4f}), "
            f"STS dev {spearman(encoder, pairs):.4f}"
        )
    print(f"float32: STS dev {spearman(exact, pairs):.4f}")


def spearman(encoder: SentenceEncoder, pairs: Any) -> float:
    """Return the rank correlation of cosines with the pairs' labels."""
    return sts_metrics(encoder.encode, pairs)["spearman"] or 0.0


if __name__ == "__main__":
    main()
