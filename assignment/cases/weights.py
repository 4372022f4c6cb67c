"""Cases of the part "weights"."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


def draw_renamed(draw: Any) -> dict[str, Any]:
    """Return tensors under the names of old and new checkpoints."""
    size = draw.size(3, 6)
    return {
        "bert.embeddings.LayerNorm.gamma": draw.floats(size),
        "bert.embeddings.LayerNorm.beta": draw.floats(size),
        "roberta.embeddings.position_ids": draw.ints(9, size),
        "embeddings.position_ids": draw.ints(9, size),
        "roberta.pooler.dense.bias": draw.floats(size),
        "bert.encoder.layer.0.output.dense.weight": draw.floats(size, size),
        "bert.embeddings.position_embeddings.weight": draw.floats(size, size),
        # What only looks like a name to change.
        "encoder.distilbert.layer.gamma": draw.floats(size),
        "encoder.lm_head.dense.beta": draw.floats(size),
        "encoder.layer.1.output.LayerNorm.weight": draw.floats(size),
        "cls.predictions.bias": draw.floats(size),
        "lm_head.layer_norm.weight": draw.floats(size),
        "lm_head.dense.bias": draw.floats(size),
        "bert.cls.predictions.transform.LayerNorm.beta": draw.floats(size),
    }


def renamed(given: Any) -> dict[str, Tensor]:
    """A file with a prefix, TensorFlow's names and a buffer, read under BERT's names."""
    from minbert.checkpoint import read_tensors
    from minbert.folder import CheckpointFolder

    with tempfile.TemporaryDirectory() as folder:
        torch.save(dict(given), Path(folder) / "pytorch_model.bin")
        return dict(sorted(read_tensors(CheckpointFolder(Path(folder))).items()))


def draw_loaded(draw: Any) -> dict[str, Any]:
    """Return the weights of a small module, and one tensor too many."""
    rows, columns = draw.sizes(2, 3, 6)
    return {
        "weight": draw.floats(rows, columns),
        "bias": draw.floats(rows),
        "buffer": draw.floats(2),
        "other.weight": draw.floats(2),
    }


draw_missing = draw_other_shape = draw_not_finite = draw_loaded


def loaded(given: Any) -> dict[str, Tensor]:
    """Weights copied into a module, of float16 as well; what it does not have is left alone."""
    halves = _load(given, {name: tensor.half() for name, tensor in given.items()})
    return {
        **_load(given, dict(given)),
        **{f"{name} of float16": tensor for name, tensor in halves.items()},
    }


def missing(given: Any) -> dict[str, Tensor]:
    """Weights without the module's bias or its buffer, and all of them."""
    without = {name: tensor for name, tensor in given.items() if name != "buffer"}
    found = {f"{name}, buffer": tensor for name, tensor in _load(given, without).items()}
    return {**_beside_all(given, {"weight": given["weight"]}), **found}


def other_shape(given: Any) -> dict[str, Tensor]:
    """Weights whose matrix is the other way round, or whose bias is a matrix, and all of them."""
    column = {**given, "bias": given["bias"][:, None]}
    found = {f"{name}, a column": tensor for name, tensor in _load(given, column).items()}
    return {**_beside_all(given, {**given, "weight": given["weight"].T}), **found}


def not_finite(given: Any) -> dict[str, Tensor]:
    """Weights one of which is NaN, infinite, or a whole number."""
    answers: dict[str, Tensor] = {}
    for name, tensor in (
        ("NaN", given["bias"] * float("nan")),
        ("infinity", given["bias"] / 0),
        ("whole numbers", given["bias"].long()),
    ):
        found = _beside_all(given, {**given, "bias": tensor})
        answers |= {f"{key}, {name}": value for key, value in found.items()}
    return answers


def _beside_all(given: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    # Whoever always refuses is not right.
    whole = {f"{name} of all": tensor for name, tensor in _load(given, dict(given)).items()}
    return {**_load(given, tensors), **whole}


def _load(given: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Load into a module of zeros; return its weights and whether CheckpointError was raised."""
    from minbert.checkpoint import load_module
    from minbert.config import CheckpointError

    module = nn.Linear(given["weight"].shape[1], given["weight"].shape[0])
    module.register_buffer("buffer", torch.zeros(2))
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    before = dict(tensors)
    try:
        load_module(module, tensors, Path("a/folder"))
    except CheckpointError as error:
        # What was copied before a refusal does not matter.
        words = str(error)
        wrong = [name for name in module.state_dict() if not _fits(given, before, name)]
        return {
            "CheckpointError raised": torch.tensor(1),
            "it names the source": torch.tensor("a/folder" in words.replace("\\", "/")),
            "it names the first such tensor": torch.tensor([*wrong, "nothing"][0] in words),
        }
    state = dict(sorted(module.state_dict().items()))
    types = torch.tensor([tensor.dtype == torch.float32 for tensor in state.values()])
    return {"CheckpointError raised": torch.tensor(0), **state, "float32 as before": types}


def _fits(given: Any, tensors: dict[str, Tensor], name: str) -> bool:
    one = tensors.get(name)
    return (
        one is not None
        and one.shape == given[name].shape
        and one.is_floating_point()
        and bool(one.isfinite().all())
    )
