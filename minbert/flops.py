"""How many floating-point operations an encoder takes, from its sizes and its sequences' lengths.

A layer multiplies each token's state by four H x H matrices and two H x I ones; attention
multiplies it twice with each of the T tokens of its sequence. A multiplication and an addition are
two operations. Sums, norms and GELU are left out, as in PyTorch's counter: at H = 256 they are
about one operation in a hundred.
"""

from collections.abc import Iterable

import numpy as np
from torch import nn

from minbert.config import BertConfig


def encoder_flops(
    lengths: Iterable[int],
    config: BertConfig,
    training: bool = False,
    pooler: bool = False,
    last_at_first: bool = False,
) -> float:
    """Return the operations of the encoder's matrix products on sequences of these lengths.

    Args:
        lengths: real tokens of each sequence.
        config: the sizes.
        training: three times as many, as one product forward gives two backward.
        pooler: count the pooler's product as well, one per sequence.
        last_at_first: the last layer computes only [CLS] (`minbert.fast.products`).
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    sizes = np.fromiter(lengths, np.float64)
    dense = 2 * (4 * hidden * hidden + 2 * hidden * inner) * sizes.sum()
    attention = 4 * hidden * np.square(sizes).sum()
    pooled = 2 * hidden * hidden * len(sizes) if pooler else 0.0
    layers = config.num_hidden_layers * (dense + attention)
    if last_at_first:
        layers -= 2 * (hidden * hidden + 2 * hidden * inner) * (sizes.sum() - len(sizes))
    return float((layers + pooled) * (3 if training else 1))


def linear_flops(module: nn.Module) -> float:
    """Return the operations that one row takes in all linear layers of a module, such as a head."""
    layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    return float(sum(2 * layer.in_features * layer.out_features for layer in layers))
