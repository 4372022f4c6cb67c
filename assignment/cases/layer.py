"""Cases of the part "layer"."""

from typing import Any

import torch
from torch import Tensor, nn


class _Square(nn.Module):
    """Stands in dropout's place: without chance, and not linear, so that its place shows."""

    def forward(self, values: Tensor) -> Tensor:
        return values.square()


class _Neighbour(nn.Module):
    """Stands in attention's place, so that this part can be right before that one is."""

    def forward(self, states: Tensor, batch: Any) -> Tensor:
        return states.roll(1, 0) - 0.3


def residual(given: Any) -> dict[str, Tensor]:
    """The end of a half-layer, without dropout."""
    from minbert.model import BertResidual

    module = given.fill(BertResidual(given.number("in_features"), given.config()))
    return {"states": module(given["update"], given["residual"])}


def residual_dropped(given: Any) -> dict[str, Tensor]:
    """The same with something in dropout's place: squares, which show where they were taken."""
    from minbert.model import BertResidual

    module = given.fill(BertResidual(given.number("in_features"), given.config()))
    module.dropout = _Square()
    return {"states": module(given["update"], given["residual"])}


def intermediate(given: Any) -> dict[str, Tensor]:
    """The wide side of the feed-forward network."""
    from minbert.model import BertIntermediate

    module = given.fill(BertIntermediate(given.config()))
    return {"states": module(given["states"])}


def layer(given: Any) -> dict[str, Tensor]:
    """A whole layer; its attention is replaced by each token's neighbour."""
    from minbert.model import BertLayer

    module = given.fill(BertLayer(given.config()))
    module.attention = _Neighbour()
    with torch.no_grad():
        return {"states": module(given["states"], given.batch())}
