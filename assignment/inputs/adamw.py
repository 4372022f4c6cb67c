"""Inputs of the part "adamw"."""

import numpy as np

from assignment.drawing import Arrays, Draw


def plain(draw: Draw) -> Arrays:
    """Return a parameter and the gradients of a few steps."""
    shape = (draw.size(3, 5), draw.size(2, 4))
    return {
        "parameter": draw.floats(*shape),
        "gradients": draw.floats(draw.size(4, 6), *shape),
        "rate": np.array(0.01 * draw.size(2, 9)),
        "decay": np.array(0.0),
        "beta1": np.array(0.8),
        "beta2": np.array(0.95),
        "eps": np.array(1e-8),
    }


def decayed(draw: Draw) -> Arrays:
    """Return the same with weight decay."""
    return {**plain(draw), "decay": np.array(0.1 * draw.size(2, 9))}


def tiny_gradients(draw: Draw) -> Arrays:
    """Return gradients beside which epsilon counts."""
    drawn = plain(draw)
    return {**drawn, "gradients": 1e-3 * drawn["gradients"], "eps": np.array(1e-3)}
