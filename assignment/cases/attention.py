"""Cases of the part "attention"."""

from typing import Any

import torch
from torch import Tensor


def one_sequence(given: Any) -> dict[str, Tensor]:
    """Attention inside one sequence."""
    return several_sequences(given)


def several_sequences(given: Any) -> dict[str, Tensor]:
    """Attention in a batch: no token sees another sequence."""
    from minbert.attention import attention

    tensors = (given["query"], given["key"], given["value"])
    return {"context": attention(*tensors, given.numbers("lengths"))}


def dropped(given: Any) -> dict[str, Tensor]:
    """Attention with something in dropout's place: squares, which show where they were taken."""
    from minbert.attention import attention

    tensors = (given["query"], given["key"], given["value"])
    return {"context": attention(*tensors, given.numbers("lengths"), torch.square)}


def heads(given: Any) -> dict[str, Tensor]:
    """Multi-head self-attention from states to states."""
    from minbert.model import BertSelfAttention

    module = given.fill(BertSelfAttention(given.config()))
    return {"context": module(given["states"], given.batch())}
