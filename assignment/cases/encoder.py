"""Cases of the parts "attention", "layer", "embeddings" and "model"."""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

QKV = ("query", "key", "value")


def _model() -> Any:
    return import_module("minbert.model")


# -------------------------------------------------------------------------------------- attention


def _draw_tensors(draw: Any, sequences: int) -> dict[str, Any]:
    # Heads, numbers in one, and tokens of a sequence: equal ones would hide an exchange.
    count, size, *lengths = draw.sizes(2 + sequences, 2, 7)
    shape = (sum(lengths), count, size)
    return {**{name: draw.floats(*shape) for name in QKV}, "lengths": np.array(lengths)}


def draw_one_sequence(draw: Any) -> dict[str, Any]:
    return _draw_tensors(draw, 1)


def one_sequence(given: Any) -> dict[str, Tensor]:
    """Attention inside one sequence."""
    return several_sequences(given)


def draw_several_sequences(draw: Any) -> dict[str, Any]:
    return _draw_tensors(draw, 3)


def several_sequences(given: Any) -> dict[str, Tensor]:
    """Attention in a batch: no token sees another sequence."""
    attention, lengths = import_module("minbert.attention").attention, given.numbers("lengths")

    def attend(*tensors: Tensor) -> Tensor:
        context: Tensor = attention(*tensors, lengths)
        return context

    context = attend(*(given[name] for name in QKV))
    return {"context": context, **given.gradients(attend, *QKV)}


def draw_dropped(draw: Any) -> dict[str, Any]:
    return _draw_tensors(draw, 2)


def dropped(given: Any) -> dict[str, Tensor]:
    """Attention with something in dropout's place: squares, which show where they were taken."""
    attention = import_module("minbert.attention").attention
    tensors = (given[name] for name in QKV)
    return {"context": attention(*tensors, given.numbers("lengths"), torch.square)}


def draw_heads(draw: Any) -> dict[str, Any]:
    """Return the states of two sequences, and the weights of a layer."""
    count, size, *lengths = map(int, draw.sizes(4, 2, 7))
    sizes = {"hidden_size": count * size, "num_attention_heads": count}
    states = draw.floats(sum(lengths), count * size)
    weights = draw.weights(_model().BertSelfAttention(draw.config(**sizes)))
    return {**sizes, "lengths": np.array(lengths), "states": states, **weights}


def heads(given: Any) -> dict[str, Tensor]:
    """Multi-head self-attention from states to states."""
    module = given.fill(_model().BertSelfAttention(given.config()))
    answers = {"context": module(given["states"], given.batch())}
    answers |= given.gradients(lambda x: module(x, given.batch()), "states", module=module)
    with given.squaring(module):
        context = module(given["states"], given.batch())
    return {**answers, "context, squares in dropout's place": context}


# ------------------------------------------------------------------------------------------ layer


def draw_residual(draw: Any) -> dict[str, Any]:
    """Return what a half-layer adds and what it adds it to, and the weights."""
    rows, width, size = draw.size(4, 7), draw.size(9, 12), draw.size(5, 8)
    return {
        "in_features": width,
        "hidden_size": size,
        "layer_norm_eps": 0.1 * draw.size(2, 6),  # so that it counts
        "update": draw.floats(rows, width),
        "residual": draw.floats(rows, size),
        **draw.weights(_model().BertResidual(width, draw.config(hidden_size=size))),
    }


def _residual(given: Any) -> Any:
    return given.fill(_model().BertResidual(given.number("in_features"), given.config()))


def residual(given: Any) -> dict[str, Tensor]:
    """The end of a half-layer, without dropout."""
    module = _residual(given)
    states = module(given["update"], given["residual"])
    return {"states": states, **given.gradients(module, "update", "residual", module=module)}


draw_residual_dropped = draw_residual


def residual_dropped(given: Any) -> dict[str, Tensor]:
    """The same with something in dropout's place: squares, which show where they were taken."""
    module = _residual(given)
    with given.squaring(module):
        return {"states": module(given["update"], given["residual"])}


def draw_intermediate(draw: Any) -> dict[str, Any]:
    """Return states, and weights under which both sides of 0 are reached."""
    sizes = {"hidden_size": draw.size(5, 8), "intermediate_size": draw.size(9, 12)}
    states = draw.floats(draw.size(6, 9), sizes["hidden_size"])
    weights = draw.weights(_model().BertIntermediate(draw.config(**sizes)))
    return {**sizes, "states": states, **weights}


def intermediate(given: Any) -> dict[str, Tensor]:
    """The wide side of the feed-forward network."""
    module = given.fill(_model().BertIntermediate(given.config()))
    states = module(given["states"])
    return {"states": states, **given.gradients(module, "states", module=module)}


def draw_layer(draw: Any) -> dict[str, Any]:
    """Return the states of two sequences, and a layer's weights."""
    size, lengths = 2 * draw.size(3, 5), draw.sizes(2, 2, 5)
    sizes = {"hidden_size": size, "intermediate_size": 2 * size + 1, "num_attention_heads": 2}
    states = draw.floats(lengths.sum(), size)
    weights = draw.weights(_model().BertLayer(draw.config(**sizes)))
    return {**sizes, "lengths": lengths, "states": states, **weights}


def layer(given: Any) -> dict[str, Tensor]:
    """A whole layer; its attention is replaced by each token's neighbour."""
    module = given.fill(_model().BertLayer(given.config()))
    # So this part can be right before that one is.
    del module.attention
    module.attention = lambda hidden_states, batch: hidden_states.roll(1, 0) - 0.3
    states = module(given["states"], given.batch())
    gradients = given.gradients(lambda x: module(x, given.batch()), "states", module=module)
    with given.squaring(module):
        dropped = module(given["states"], given.batch())
    return {"states": states, **gradients, "states, squares in dropout's place": dropped}


# ------------------------------------------------------------------------------------- embeddings


def draw_packed(draw: Any) -> dict[str, Any]:
    """Return padded rows of different lengths; one has two holes, some are pairs."""
    rows, length = draw.size(3, 5), draw.size(7, 9)
    lengths = np.concatenate([[length], draw.sizes(rows - 1, 3, length - 1)])
    mask = (np.arange(length) < lengths[:, None]).astype(np.int64)
    mask[0, [2, 4]] = 0
    types = (np.arange(length) >= lengths[:, None] // 2).astype(np.int64) * mask
    input_ids = 1 + draw.ints(20, rows, length)
    # One of the holes is padding, whichever its id; and so is, by its id, a real token (not the
    # first, at which counting might begin below 0).
    input_ids[0, 4], input_ids[1, 1] = 0, 0
    input_ids[0, 2], input_ids[2, 1] = 1, 1
    return {"input_ids": input_ids, "mask": mask, "types": types}


def packed(given: Any) -> dict[str, Tensor]:
    """Padded rows made into a packed batch, without a padding_id and with one."""
    pack_padded = import_module("minbert.packing").pack_padded
    rows = given["input_ids"], given["mask"], given["types"]
    answers = _fields(*pack_padded(*rows))
    for padding in (1, 0):
        positions = pack_padded(*rows, padding_id=padding)[0].position_ids
        answers[f"position_ids with padding_id {padding}"] = positions
    return answers


def draw_packed_without_mask(draw: Any) -> dict[str, Any]:
    return {"input_ids": 1 + draw.ints(20, draw.size(2, 4), draw.size(5, 7))}


def packed_without_mask(given: Any) -> dict[str, Tensor]:
    """Rows of one length, all of whose tokens are real."""
    return _fields(*import_module("minbert.packing").pack_padded(given["input_ids"]))


draw_refused = draw_packed


def refused(given: Any) -> dict[str, Tensor]:
    """Rows one of which has no real token, and as they should be."""
    pack_padded = import_module("minbert.packing").pack_padded
    answers = {}
    empty = given["mask"].clone()
    empty[1] = 0
    for name, mask in (("a row without a real token", empty), ("real rows", given["mask"])):
        raised = False
        try:
            pack_padded(given["input_ids"], mask, given["types"])
        except ValueError:
            raised = True
        answers[f"ValueError raised for {name}"] = torch.tensor(raised)
    return answers


def _fields(batch: Any, mask: Tensor) -> dict[str, Tensor]:
    whole = isinstance(batch.lengths, tuple) and {*map(type, batch.lengths)} == {int}
    return {
        "mask": mask.long(),
        "mask is boolean": torch.tensor(mask.dtype == torch.bool),
        "lengths": torch.as_tensor(batch.lengths),
        "lengths are a tuple of Python integers": torch.tensor(whole),
        "cu_seqlens are whole numbers": torch.tensor(not batch.cu_seqlens.is_floating_point()),
        "cu_seqlens": batch.cu_seqlens,
        "input_ids": batch.input_ids,
        "token_type_ids": batch.token_type_ids,
        "position_ids": batch.position_ids,
        "first_lengths": batch.first_lengths,
    }


def draw_states(draw: Any) -> dict[str, Any]:
    """Return a batch of two sequences, the second sentences of which have their own type."""
    vocabulary, size, lengths = draw.size(20, 30), draw.size(5, 8), draw.sizes(2, 3, 6)
    sizes = {"vocab_size": vocabulary, "hidden_size": size, "max_position_embeddings": 9}
    return {
        **sizes,
        "layer_norm_eps": 0.1 * draw.size(2, 6),  # so that it counts
        "lengths": lengths,
        "input_ids": 1 + draw.ints(vocabulary - 1, lengths.sum()),
        "token_type_ids": np.concatenate([np.arange(n) >= n // 2 for n in lengths]).astype("i8"),
        **draw.weights(_model().BertEmbeddings(draw.config(**sizes))),
    }


def states(given: Any) -> dict[str, Tensor]:
    """The states that enter the first layer."""
    module = given.fill(_model().BertEmbeddings(given.config()))
    states = module(given.batch())
    return {"states": states, **given.gradients(lambda: module(given.batch()), module=module)}


draw_states_dropped = draw_states


def states_dropped(given: Any) -> dict[str, Tensor]:
    """The same with something in dropout's place: squares, which show where they were taken."""
    module = given.fill(_model().BertEmbeddings(given.config()))
    with given.squaring(module):
        return {"states": module(given.batch())}


def draw_positions_after_padding(draw: Any) -> dict[str, Any]:
    return {**draw_states(draw), "pad_token_id": 1}


def positions_after_padding(given: Any) -> dict[str, Tensor]:
    """The states of RoBERTa, whose first position is not 0."""
    module = given.fill(_model().BertEmbeddings(given.config(model_type="roberta")))
    return {"states": module(given.batch())}


# ------------------------------------------------------------------------------------------ model


def draw_whole(draw: Any) -> dict[str, Any]:
    """Return a padded batch, and the weights of a small encoder."""
    heads, rows, length = draw.size(2, 3), draw.size(3, 4), draw.size(6, 8)
    sizes = {
        "vocab_size": draw.size(20, 30),
        "hidden_size": heads * draw.size(3, 5),
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "intermediate_size": draw.size(11, 15),
        "max_position_embeddings": 10,
    }
    lengths = draw.sizes(rows, 3, length)
    return {
        **sizes,
        "input_ids": 1 + draw.ints(sizes["vocab_size"] - 1, rows, length),
        "mask": (np.arange(length) < lengths[:, None]).astype(np.int64),
        **draw.weights(_model().BertModel(draw.config(**sizes))),
    }


def whole(given: Any) -> dict[str, Tensor]:
    """All states of a small encoder, from the embeddings to the pooler, in order."""
    model = given.fill(_model().BertModel(given.config()))
    with torch.no_grad():
        output = model(given["input_ids"], given["mask"], output_hidden_states=True)
    states = {f"states {number}": state for number, state in enumerate(output.hidden_states)}
    return {**states, "pooler output": output.pooler_output}
