"""Inputs of the part "pooling"."""

import numpy as np

from assignment.drawing import Arrays, Draw


def poolings(draw: Draw) -> Arrays:
    """Return the states of four depths of three sequences."""
    lengths, size = draw.sizes(3, 2, 7), draw.size(5, 8)
    shape = (lengths.sum(), size)
    return {"lengths": lengths, **{f"states {i}": draw.floats(*shape) for i in range(4)}}


def mean_of_tokens(draw: Draw) -> Arrays:
    """Return states of three sequences."""
    lengths = draw.sizes(3, 2, 7)
    return {"lengths": lengths, "states": draw.floats(lengths.sum(), draw.size(5, 8))}


def segments(draw: Draw) -> Arrays:
    """Return states of three pairs, and where their first texts end."""
    lengths = draw.sizes(3, 7, 11)
    firsts = np.array([draw.size(2, length - 3) for length in lengths])
    firsts[0] = lengths[0] - 2  # far from the middle, so that a cut there shows
    states = draw.floats(lengths.sum(), draw.size(5, 8))
    return {"lengths": lengths, "first_lengths": firsts, "states": states}
