"""Cases of the part "embeddings"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


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
    from minbert.packing import pack_padded

    rows = given["input_ids"], given["mask"], given["types"]
    answers = _fields(*pack_padded(*rows))
    for padding in (1, 0):
        positions = pack_padded(*rows, padding_id=padding)[0].position_ids
        answers[f"position_ids with padding_id {padding}"] = positions
    return answers


def draw_packed_without_mask(draw: Any) -> dict[str, Any]:
    """Return rows of one length and nothing else."""
    return {"input_ids": 1 + draw.ints(20, draw.size(2, 4), draw.size(5, 7))}


def packed_without_mask(given: Any) -> dict[str, Tensor]:
    """Rows of one length, all of whose tokens are real."""
    from minbert.packing import pack_padded

    return _fields(*pack_padded(given["input_ids"]))


draw_refused = draw_packed


def refused(given: Any) -> dict[str, Tensor]:
    """Rows one of which has no real token, and as they should be."""
    from minbert.packing import pack_padded

    answers = {}
    empty = given["mask"].clone()
    empty[1] = 0
    for name, mask in (("a row without a real token", empty), ("real rows", given["mask"])):
        raised = 0
        try:
            pack_padded(given["input_ids"], mask, given["types"])
        except ValueError:
            raised = 1
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
    from minbert.model import BertEmbeddings

    vocabulary, size, lengths = draw.size(20, 30), draw.size(5, 8), draw.sizes(2, 3, 6)
    sizes = {"vocab_size": vocabulary, "hidden_size": size, "max_position_embeddings": 9}
    return {
        **sizes,
        "layer_norm_eps": 0.1 * draw.size(2, 6),  # so that it counts
        "lengths": lengths,
        "input_ids": 1 + draw.ints(vocabulary - 1, lengths.sum()),
        "token_type_ids": np.concatenate([np.arange(n) >= n // 2 for n in lengths]).astype("i8"),
        **draw.weights(BertEmbeddings(draw.config(**sizes))),
    }


def states(given: Any) -> dict[str, Tensor]:
    """The states that enter the first layer."""
    from minbert.model import BertEmbeddings

    module = given.fill(BertEmbeddings(given.config()))
    states = module(given.batch())
    return {"states": states, **given.gradients(lambda: module(given.batch()), module=module)}


draw_states_dropped = draw_states


def states_dropped(given: Any) -> dict[str, Tensor]:
    """The same with something in dropout's place: squares, which show where they were taken."""
    from minbert.model import BertEmbeddings

    module = given.fill(BertEmbeddings(given.config()))
    with given.squaring(module):
        return {"states": module(given.batch())}


def draw_positions_after_padding(draw: Any) -> dict[str, Any]:
    """Return a batch for an encoder of RoBERTa's kind."""
    return {**draw_states(draw), "pad_token_id": 1}


def positions_after_padding(given: Any) -> dict[str, Tensor]:
    """The states of RoBERTa, whose first position is not 0."""
    from minbert.model import BertEmbeddings

    module = given.fill(BertEmbeddings(given.config(model_type="roberta")))
    return {"states": module(given.batch())}


# Case -> an easier one of the same function, and what that does without.
BEYOND = {
    "states_dropped": ("states", "dropout"),
    "positions_after_padding": ("states", "RoBERTa's positions"),
}
