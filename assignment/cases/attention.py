"""Cases of the part "attention"."""

from typing import Any

import torch
from torch import Tensor


def _draw_tensors(draw: Any, lengths: Any) -> dict[str, Any]:
    # As many heads as numbers in one would hide an exchange of the two.
    count, size = draw.sizes(2, 3, 5)
    shape = (lengths.sum(), count, size)
    tensors = {name: draw.floats(*shape) for name in ("query", "key", "value")}
    return {**tensors, "lengths": lengths}


def draw_one_sequence(draw: Any) -> dict[str, Any]:
    """Return queries, keys and values of one sequence."""
    return _draw_tensors(draw, draw.sizes(1, 4, 6))


def one_sequence(given: Any) -> dict[str, Tensor]:
    """Attention inside one sequence."""
    return several_sequences(given)


def draw_several_sequences(draw: Any) -> dict[str, Any]:
    """Return those of three sequences of different lengths."""
    return _draw_tensors(draw, draw.sizes(3, 2, 7))


def several_sequences(given: Any) -> dict[str, Tensor]:
    """Attention in a batch: no token sees another sequence."""
    from minbert.attention import attention

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attention(query, key, value, given.numbers("lengths"))

    names = ("query", "key", "value")
    context = attend(*(given[name] for name in names))
    return {"context": context, **given.gradients(attend, *names)}


def draw_dropped(draw: Any) -> dict[str, Any]:
    """Return those of two."""
    return _draw_tensors(draw, draw.sizes(2, 3, 6))


def dropped(given: Any) -> dict[str, Tensor]:
    """Attention with something in dropout's place: squares, which show where they were taken."""
    from minbert.attention import attention

    tensors = (given["query"], given["key"], given["value"])
    return {"context": attention(*tensors, given.numbers("lengths"), torch.square)}


def draw_heads(draw: Any) -> dict[str, Any]:
    """Return the states of two sequences, and the weights of a layer."""
    from minbert.model import BertSelfAttention

    count, size = map(int, draw.sizes(2, 3, 5))
    lengths = draw.sizes(2, 2, 6)
    sizes = {"hidden_size": count * size, "num_attention_heads": count}
    states = draw.floats(lengths.sum(), count * size)
    weights = draw.weights(BertSelfAttention(draw.config(**sizes)))
    return {**sizes, "lengths": lengths, "states": states, **weights}


def heads(given: Any) -> dict[str, Tensor]:
    """Multi-head self-attention from states to states."""
    from minbert.model import BertSelfAttention

    module = given.fill(BertSelfAttention(given.config()))
    answers = {"context": module(given["states"], given.batch())}
    answers |= given.gradients(lambda x: module(x, given.batch()), "states", module=module)
    with given.squaring(module):
        context = module(given["states"], given.batch())
    return {**answers, "context, squares in dropout's place": context}


# Case -> an easier one of the same function, and what that does without.
BEYOND = {
    "several_sequences": ("one_sequence", "a second sequence"),
    "dropped": ("several_sequences", "dropout"),
}
