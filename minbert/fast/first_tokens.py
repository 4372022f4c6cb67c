"""The last layer at [CLS] alone, for training in bfloat16 that reads no other of its states.

Attention there needs the keys and values of all tokens. All that follows works on each token by
itself: of mini's four layers most of one is saved, of bert-base's twelve a fifteenth of the work.
Reads: products. Feeds: encoder.
"""

import torch.nn.functional as F
from torch import Tensor

from minbert.fast.products import ROWS, trains_in_bfloat16
from minbert.mlm import last_states_at
from minbert.model import BertModel
from minbert.packing import PackedBatch


def first_tokens_suffice(model: BertModel, batch: PackedBatch, pooling: str) -> bool:
    """Return whether a model that trains in bfloat16 on a CPU is read at [CLS] only."""
    read = pooling == "cls_before_pooler" or (pooling == "cls" and model.pooler is not None)
    return read and trains_in_bfloat16(model, batch.input_ids)


def first_token_embeddings(model: BertModel, batch: PackedBatch, pooling: str) -> Tensor:
    """Return `minbert.pooling.pool`'s embeddings (B, H), pooling "cls" or "cls_before_pooler"."""
    model.check_length(batch)
    states = model.embeddings(batch)  # (total_tokens, H)
    # A number of rows that recurs, as in `minbert.fast.products.Encoder`.
    states = F.pad(states, (0, 0, 0, -len(states) % ROWS))
    states = last_states_at(model, states, batch, batch.cu_seqlens[:-1])  # (B, H)
    if pooling == "cls":
        assert model.pooler is not None
        states = model.pooler(states)
    return states.float()
