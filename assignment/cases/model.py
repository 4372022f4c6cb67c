"""Cases of the part "model"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def draw_whole(draw: Any) -> dict[str, Any]:
    """Return a padded batch, and the weights of a small encoder."""
    from minbert.model import BertModel

    heads, rows, length = draw.size(2, 3), draw.size(3, 4), draw.size(6, 8)
    sizes = {
        "vocab_size": draw.size(20, 30),
        "hidden_size": heads * draw.size(3, 5),
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "intermediate_size": draw.size(11, 15),
        "max_position_embeddings": 10,
    }
    lengths = draw.sizes(rows, 3, length)
    return {
        **sizes,
        "input_ids": 1 + draw.ints(sizes["vocab_size"] - 1, rows, length),
        "mask": (np.arange(length) < lengths[:, None]).astype(np.int64),
        **draw.weights(BertModel(draw.config(**sizes))),
    }


def whole(given: Any) -> dict[str, Tensor]:
    """All states of a small encoder, from the embeddings to the pooler, in order."""
    from minbert.model import BertModel

    model = given.fill(BertModel(given.config()))
    with torch.no_grad():
        output = model(given["input_ids"], given["mask"], output_hidden_states=True)
    states = {f"states {number}": state for number, state in enumerate(output.hidden_states)}
    return {**states, "pooler output": output.pooler_output}
