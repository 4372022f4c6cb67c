"""Inputs of the part "attention"."""

import numpy as np

from assignment.drawing import Arrays, Draw
from minbert.config import BertConfig
from minbert.model import BertSelfAttention


def one_sequence(draw: Draw) -> Arrays:
    """Return queries, keys and values of one sequence."""
    return _tensors(draw, draw.sizes(1, 4, 6))


def several_sequences(draw: Draw) -> Arrays:
    """Return those of three sequences of different lengths."""
    return _tensors(draw, draw.sizes(3, 2, 7))


def dropped(draw: Draw) -> Arrays:
    """Return those of two."""
    return _tensors(draw, draw.sizes(2, 3, 6))


def heads(draw: Draw) -> Arrays:
    """Return the states of two sequences, and the weights of a layer."""
    count, size = map(int, draw.sizes(2, 3, 5))
    lengths = draw.sizes(2, 2, 6)
    config = BertConfig(hidden_size=count * size, num_attention_heads=count)
    return {
        "hidden_size": np.array(count * size),
        "num_attention_heads": np.array(count),
        "lengths": lengths,
        "states": draw.floats(lengths.sum(), count * size),
        **draw.weights(BertSelfAttention(config)),
    }


def _tensors(draw: Draw, lengths: np.ndarray) -> Arrays:
    # As many heads as numbers in one would hide an exchange of the two.
    count, size = draw.sizes(2, 3, 5)
    shape = (lengths.sum(), count, size)
    tensors = {name: draw.floats(*shape) for name in ("query", "key", "value")}
    return {**tensors, "lengths": lengths}
