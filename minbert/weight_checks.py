"""What weights must be before a model is built of them or takes them. Feeds: checkpoint.

Each check raises one line that names the tensor. Without them PyTorch would cast, or compute with
numbers that are none, and the loss would be blamed.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from minbert.config import BertConfig, CheckpointError

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_plain(tensors: object, path: Path) -> None:
    """Refuse a file that holds something other than plain tensors by name.

    Raises:
        CheckpointError: not a dictionary of them, or one is sparse, quantised or without values.
    """
    if not isinstance(tensors, dict) or not all(
        isinstance(key, str) and isinstance(tensor, Tensor) for key, tensor in tensors.items()
    ):
        raise CheckpointError(f"{path}: expected a dictionary of tensors by name")
    for name, tensor in tensors.items():
        odd = tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested
        if odd or tensor.is_meta:
            raise CheckpointError(
                f"{path}: tensor {name} is sparse, quantised, nested or without values; "
                "save the model with plain tensors"
            )


def check_sizes(tensors: dict[str, Tensor], config: BertConfig, folder: Path) -> None:
    """Refuse sizes of config.json that the weights have not, before memory is taken for them.

    All other tensors are compared when they are copied into the model.

    Raises:
        CheckpointError: too few layers, or a tensor that is missing or of another shape.
    """
    layers = len({key.split(".")[2] for key in tensors if key.startswith("encoder.layer.")})
    if config.num_hidden_layers > layers:
        raise CheckpointError(
            f"{folder}: the weights have {layers} layers, config.json asks for "
            f"{config.num_hidden_layers}"
        )
    size = config.hidden_size
    for key, rows in (
        ("embeddings.word_embeddings.weight", config.vocab_size),
        ("embeddings.position_embeddings.weight", config.max_position_embeddings),
        ("embeddings.token_type_embeddings.weight", config.type_vocab_size),
        ("encoder.layer.0.intermediate.dense.weight", config.intermediate_size),
    ):
        if key not in tensors:
            raise CheckpointError(f"{folder}: tensor {key} is missing from the weights")
        if tensors[key].shape != (rows, size):
            raise CheckpointError(
                f"{folder}: tensor {key} has shape {tuple(tensors[key].shape)}, "
                f"config.json asks for {(rows, size)}"
            )


def check_numbers(tensors: dict[str, Tensor], keys: Iterable[str], source: Path) -> None:
    """Refuse tensors whose numbers are not real and finite.

    Args:
        tensors: all that the file holds.
        keys: those to look at, as far as they are there.
        source: where they are from.

    Raises:
        CheckpointError: integers, truth values or complex numbers; NaN or infinity.
    """
    for key in keys:
        tensor = tensors.get(key)
        if tensor is None:
            continue
        if tensor.dtype not in FLOATS:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise CheckpointError(f"{source}: tensor {key} is of type {kind}; expected floats")
        if not tensor.isfinite().all():
            raise CheckpointError(
                f"{source}: tensor {key} holds NaN or infinity; the file is damaged, or the "
                "training that wrote it diverged"
            )
