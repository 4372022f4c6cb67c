"""Cases of the part "weights"."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


def _load(given: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Load into a module of zeros; return its weights and whether CheckpointError was raised."""
    from minbert.checkpoint import load_module
    from minbert.config import CheckpointError

    module = nn.Linear(given["weight"].shape[1], given["weight"].shape[0])
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    refused = 0
    try:
        load_module(module, tensors, Path("weights"))
    except CheckpointError:
        refused = 1
    state = dict(sorted(module.state_dict().items()))
    return {"CheckpointError raised": torch.tensor(refused), **state}


def renamed(given: Any) -> dict[str, Tensor]:
    """A file with a prefix, TensorFlow's names and a buffer, read under BERT's names."""
    from minbert.checkpoint import read_tensors

    with tempfile.TemporaryDirectory() as folder:
        torch.save(dict(given), Path(folder) / "pytorch_model.bin")
        return dict(sorted(read_tensors(Path(folder)).items()))


def loaded(given: Any) -> dict[str, Tensor]:
    """Weights copied into a module; a tensor that it does not have is left alone."""
    return _load(given, dict(given))


def missing(given: Any) -> dict[str, Tensor]:
    """Weights without the module's bias."""
    return _load(given, {"weight": given["weight"]})


def other_shape(given: Any) -> dict[str, Tensor]:
    """Weights whose matrix is the other way round."""
    return _load(given, {**given, "weight": given["weight"].T})
