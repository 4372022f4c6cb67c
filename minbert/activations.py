"""The first layer of the feed-forward network with activations other than BERT's GELU.

Few published BERTs use one. The names are the values of `hidden_act` in config.json.
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from minbert.config import BertConfig

# The tanh approximation (Hendrycks and Gimpel 2016, section 2), from GPT-2's first release.
_gelu_by_tanh = partial(F.gelu, approximate="tanh")
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_python": F.gelu,
    "gelu_new": _gelu_by_tanh,
    "gelu_pytorch_tanh": _gelu_by_tanh,
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
}


class OtherIntermediate(nn.Module):
    """`minbert.model.BertIntermediate` with the activation that config.json names."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Return (total_tokens, I) from (total_tokens, H)."""
        return self.activation(self.dense(hidden_states))
