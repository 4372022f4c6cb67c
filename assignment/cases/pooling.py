"""Cases of the part "pooling"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

NAMES = ("cls_before_pooler", "avg", "avg_top2", "avg_first_last")


def draw_poolings(draw: Any) -> dict[str, Any]:
    """Return the states of five depths of three sequences."""
    lengths, size = draw.sizes(3, 2, 7), draw.size(5, 8)
    shape = (lengths.sum(), size)
    return {"lengths": lengths, **{f"states {i}": draw.floats(*shape) for i in range(5)}}


def poolings(given: Any) -> dict[str, Tensor]:
    """The four poolings that need no pooler."""
    from minbert.model import BertOutput
    from minbert.pooling import pool

    states = tuple(given[f"states {i}"] for i in range(5))
    output, batch = BertOutput(states[-1], None, states), given.batch()
    halves = tuple(state.half() for state in states)
    answers = {name: pool(output, batch, name) for name in NAMES}
    for name in NAMES:
        of_halves = pool(BertOutput(halves[-1], None, halves), batch, name)
        answers[f"{name} of float16 is float32"] = torch.tensor(of_halves.dtype == torch.float32)
    return answers


def draw_mean_of_tokens(draw: Any) -> dict[str, Any]:
    """Return states of three sequences."""
    lengths = draw.sizes(3, 2, 7)
    return {"lengths": lengths, "states": draw.floats(lengths.sum(), draw.size(5, 8))}


def mean_of_tokens(given: Any) -> dict[str, Tensor]:
    """Each sequence's mean token."""
    from minbert.pooling import mean_of_tokens

    states, batch = given["states"], given.batch()
    return {
        "means": mean_of_tokens(states, batch),
        **given.gradients(lambda x: mean_of_tokens(x, batch), "states"),
        "means of float16": mean_of_tokens(states.half(), batch),
    }


def draw_segments(draw: Any) -> dict[str, Any]:
    """Return states of three pairs, and where their first texts end."""
    lengths = draw.sizes(3, 7, 11)
    firsts = np.array([draw.size(2, length - 3) for length in lengths])
    firsts[0] = lengths[0] - 2  # far from the middle, so that a cut there shows
    states = draw.floats(lengths.sum(), draw.size(5, 8))
    return {"lengths": lengths, "first_lengths": firsts, "states": states}


def segments(given: Any) -> dict[str, Tensor]:
    """The mean tokens of both texts of each pair."""
    from minbert.pooling import mean_of_segments

    batch = given.batch()
    first, second = mean_of_segments(given["states"], batch)
    halves = mean_of_segments(given["states"].half(), batch)
    return {
        "first": first,
        "second": second,
        **given.gradients(lambda x: torch.cat(mean_of_segments(x, batch)), "states"),
        "first of float16": halves[0],
        "second of float16": halves[1],
    }
