"""Cases of the part "pooling"."""

from typing import Any

from torch import Tensor


def poolings(given: Any) -> dict[str, Tensor]:
    """The four poolings that need no pooler."""
    from minbert.model import BertOutput
    from minbert.pooling import pool

    states = tuple(given[f"states {i}"] for i in range(4))
    output, batch = BertOutput(states[-1], None, states), given.batch()
    names = ("cls_before_pooler", "avg", "avg_top2", "avg_first_last")
    return {name: pool(output, batch, name) for name in names}


def mean_of_tokens(given: Any) -> dict[str, Tensor]:
    """Each sequence's mean token."""
    from minbert.pooling import mean_of_tokens

    return {"means": mean_of_tokens(given["states"], given.batch())}


def segments(given: Any) -> dict[str, Tensor]:
    """The mean tokens of both texts of each pair."""
    from minbert.pooling import mean_of_segments

    first, second = mean_of_segments(given["states"], given.batch())
    return {"first": first, "second": second}
