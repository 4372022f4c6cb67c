"""Cases of the part "embeddings"."""

from typing import Any

import torch
from torch import Tensor, nn


class _Square(nn.Module):
    """Stands in dropout's place: without chance, and not linear, so that its place shows."""

    def forward(self, values: Tensor) -> Tensor:
        return values.square()


def _fields(batch: Any, mask: Tensor) -> dict[str, Tensor]:
    return {
        "mask": mask.long(),
        "lengths": torch.tensor(batch.lengths),
        "cu_seqlens": batch.cu_seqlens,
        "input_ids": batch.input_ids,
        "token_type_ids": batch.token_type_ids,
        "position_ids": batch.position_ids,
        "first_lengths": batch.first_lengths,
    }


def packed(given: Any) -> dict[str, Tensor]:
    """Padded rows made into a packed batch; one row has a hole, some are pairs."""
    from minbert.packing import pack_padded

    return _fields(*pack_padded(given["input_ids"], given["mask"], given["types"]))


def packed_without_mask(given: Any) -> dict[str, Tensor]:
    """Rows of one length, all of whose tokens are real."""
    from minbert.packing import pack_padded

    return _fields(*pack_padded(given["input_ids"]))


def states(given: Any) -> dict[str, Tensor]:
    """The states that enter the first layer."""
    from minbert.model import BertEmbeddings

    return {"states": given.fill(BertEmbeddings(given.config()))(given.batch())}


def states_dropped(given: Any) -> dict[str, Tensor]:
    """The same with something in dropout's place: squares, which show where they were taken."""
    from minbert.model import BertEmbeddings

    module = given.fill(BertEmbeddings(given.config()))
    module.dropout = _Square()
    return {"states": module(given.batch())}


def positions_after_padding(given: Any) -> dict[str, Tensor]:
    """The states of RoBERTa, whose first position is not 0."""
    from minbert.model import BertEmbeddings

    module = given.fill(BertEmbeddings(given.config(model_type="roberta")))
    return {"states": module(given.batch())}
