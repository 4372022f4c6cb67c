"""Cases of the part "layer"."""

from typing import Any

from torch import Tensor


def draw_residual(draw: Any) -> dict[str, Any]:
    """Return what a half-layer adds and what it adds it to, and the weights."""
    from minbert.model import BertResidual

    rows, width, size = draw.size(4, 7), draw.size(9, 12), draw.size(5, 8)
    return {
        "in_features": width,
        "hidden_size": size,
        "layer_norm_eps": 0.1 * draw.size(2, 6),  # so that it counts
        "update": draw.floats(rows, width),
        "residual": draw.floats(rows, size),
        **draw.weights(BertResidual(width, draw.config(hidden_size=size))),
    }


def residual(given: Any) -> dict[str, Tensor]:
    """The end of a half-layer, without dropout."""
    from minbert.model import BertResidual

    module = given.fill(BertResidual(given.number("in_features"), given.config()))
    states = module(given["update"], given["residual"])
    return {"states": states, **given.gradients(module, "update", "residual", module=module)}


draw_residual_dropped = draw_residual


def residual_dropped(given: Any) -> dict[str, Tensor]:
    """The same with something in dropout's place: squares, which show where they were taken."""
    from minbert.model import BertResidual

    module = given.fill(BertResidual(given.number("in_features"), given.config()))
    with given.squaring(module):
        return {"states": module(given["update"], given["residual"])}


def draw_intermediate(draw: Any) -> dict[str, Any]:
    """Return states, and weights under which both sides of 0 are reached."""
    from minbert.model import BertIntermediate

    sizes = {"hidden_size": draw.size(5, 8), "intermediate_size": draw.size(9, 12)}
    states = draw.floats(draw.size(6, 9), sizes["hidden_size"])
    return {**sizes, "states": states, **draw.weights(BertIntermediate(draw.config(**sizes)))}


def intermediate(given: Any) -> dict[str, Tensor]:
    """The wide side of the feed-forward network."""
    from minbert.model import BertIntermediate

    module = given.fill(BertIntermediate(given.config()))
    states = module(given["states"])
    return {"states": states, **given.gradients(module, "states", module=module)}


def draw_layer(draw: Any) -> dict[str, Any]:
    """Return the states of two sequences, and a layer's weights."""
    from minbert.model import BertLayer

    size, lengths = 2 * draw.size(3, 5), draw.sizes(2, 2, 5)
    sizes = {"hidden_size": size, "intermediate_size": 2 * size + 1, "num_attention_heads": 2}
    states = draw.floats(lengths.sum(), size)
    weights = draw.weights(BertLayer(draw.config(**sizes)))
    return {**sizes, "lengths": lengths, "states": states, **weights}


def layer(given: Any) -> dict[str, Tensor]:
    """A whole layer; its attention is replaced by each token's neighbour."""
    from minbert.model import BertLayer

    module = given.fill(BertLayer(given.config()))
    # So this part can be right before that one is.
    del module.attention
    module.attention = lambda hidden_states, batch: hidden_states.roll(1, 0) - 0.3
    states = module(given["states"], given.batch())
    gradients = given.gradients(lambda x: module(x, given.batch()), "states", module=module)
    return {"states": states, **gradients}


# Case -> an easier one of the same function, and what that does without.
BEYOND = {
    "residual_dropped": ("residual", "dropout"),
}
