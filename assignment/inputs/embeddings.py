"""Inputs of the part "embeddings"."""

import numpy as np

from assignment.drawing import Arrays, Draw
from minbert.config import BertConfig
from minbert.model import BertEmbeddings


def packed(draw: Draw) -> Arrays:
    """Return padded rows of different lengths; one has a hole, some are pairs."""
    rows, length = draw.size(3, 5), draw.size(7, 9)
    lengths = np.concatenate([[length], draw.sizes(rows - 1, 3, length - 1)])
    mask = (np.arange(length) < lengths[:, None]).astype(np.int64)
    mask[0, 2] = 0
    types = (np.arange(length) >= lengths[:, None] // 2).astype(np.int64) * mask
    return {"input_ids": 1 + draw.ints(20, rows, length), "mask": mask, "types": types}


def packed_without_mask(draw: Draw) -> Arrays:
    """Return rows of one length and nothing else."""
    return {"input_ids": 1 + draw.ints(20, draw.size(2, 4), draw.size(5, 7))}


def states(draw: Draw) -> Arrays:
    """Return a batch of two sequences, the second sentences of which have their own type."""
    vocabulary, size, lengths = draw.size(20, 30), draw.size(5, 8), draw.sizes(2, 3, 6)
    config = BertConfig(vocab_size=vocabulary, hidden_size=size, max_position_embeddings=9)
    return {
        "vocab_size": np.array(vocabulary),
        "hidden_size": np.array(size),
        "max_position_embeddings": np.array(9),
        "lengths": lengths,
        "input_ids": 1 + draw.ints(vocabulary - 1, lengths.sum()),
        "token_type_ids": np.concatenate([np.arange(n) >= n // 2 for n in lengths]).astype("i8"),
        **draw.weights(BertEmbeddings(config)),
    }


states_dropped = states


def positions_after_padding(draw: Draw) -> Arrays:
    """Return a batch for an encoder of RoBERTa's kind."""
    return {**states(draw), "pad_token_id": np.array(1)}
