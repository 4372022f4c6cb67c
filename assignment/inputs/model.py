"""Inputs of the part "model"."""

from typing import Any

import numpy as np

from assignment.drawing import Arrays, Draw
from minbert.config import BertConfig
from minbert.model import BertModel


def whole(draw: Draw) -> Arrays:
    """Return a padded batch, and the weights of a small encoder."""
    heads, rows, length = draw.size(2, 3), draw.size(3, 4), draw.size(6, 8)
    sizes: dict[str, Any] = {
        "vocab_size": draw.size(20, 30),
        "hidden_size": heads * draw.size(3, 5),
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "intermediate_size": draw.size(11, 15),
        "max_position_embeddings": 10,
    }
    lengths = draw.sizes(rows, 3, length)
    return {
        **{name: np.array(size) for name, size in sizes.items()},
        "input_ids": 1 + draw.ints(sizes["vocab_size"] - 1, rows, length),
        "mask": (np.arange(length) < lengths[:, None]).astype(np.int64),
        **draw.weights(BertModel(BertConfig(**sizes))),
    }
