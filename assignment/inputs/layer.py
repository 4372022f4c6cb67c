"""Inputs of the part "layer"."""

import numpy as np

from assignment.drawing import Arrays, Draw
from minbert.config import BertConfig
from minbert.model import BertIntermediate, BertLayer, BertResidual


def residual(draw: Draw) -> Arrays:
    """Return what a half-layer adds and what it adds it to, and the weights."""
    rows, width, size = draw.size(4, 7), draw.size(9, 12), draw.size(5, 8)
    module = BertResidual(width, BertConfig(hidden_size=size))
    return {
        "in_features": np.array(width),
        "hidden_size": np.array(size),
        "update": draw.floats(rows, width),
        "residual": draw.floats(rows, size),
        **draw.weights(module),
    }


residual_dropped = residual


def intermediate(draw: Draw) -> Arrays:
    """Return states, and weights under which both sides of 0 are reached."""
    size, width = draw.size(5, 8), draw.size(9, 12)
    config = BertConfig(hidden_size=size, intermediate_size=width)
    return {
        "hidden_size": np.array(size),
        "intermediate_size": np.array(width),
        "states": draw.floats(draw.size(6, 9), size),
        **draw.weights(BertIntermediate(config)),
    }


def layer(draw: Draw) -> Arrays:
    """Return the states of two sequences, and a layer's weights."""
    size, lengths = 2 * draw.size(3, 5), draw.sizes(2, 2, 5)
    width = 2 * size + 1
    config = BertConfig(hidden_size=size, intermediate_size=width, num_attention_heads=2)
    return {
        "hidden_size": np.array(size),
        "intermediate_size": np.array(width),
        "num_attention_heads": np.array(2),
        "lengths": lengths,
        "states": draw.floats(lengths.sum(), size),
        **draw.weights(BertLayer(config)),
    }
