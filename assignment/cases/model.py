"""Cases of the part "model"."""

from typing import Any

import torch
from torch import Tensor


def whole(given: Any) -> dict[str, Tensor]:
    """All states of a small encoder, from the embeddings to the pooler, in order."""
    from minbert.model import BertModel

    model = given.fill(BertModel(given.config()))
    with torch.no_grad():
        output = model(given["input_ids"], given["mask"], output_hidden_states=True)
    states = {f"states {number}": state for number, state in enumerate(output.hidden_states)}
    return {**states, "pooler output": output.pooler_output}
