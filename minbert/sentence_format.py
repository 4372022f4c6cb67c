"""The files that tell sentence-transformers how to pool a checkpoint, in and out.

`modules.json` lists the steps (Transformer, Pooling, Dense, Normalize), each with a folder.
SimCSE's `cls` is Pooling([CLS]) and Dense(tanh); the averages over two layers are
WeightedLayerPooling and Pooling(mean). Feeds: encoder.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from minbert.checkpoint import Tensors, load_module, read_file, write_tensors
from minbert.config import BertConfig, CheckpointError
from minbert.model import BertModel
from runtime.json_file import read_json, read_object

KNOWN_STEPS = {"Transformer", "WeightedLayerPooling", "Pooling", "Dense", "Dropout", "Normalize"}


class StatedPooling(NamedTuple):
    """What a checkpoint folder says about pooling; None where it says nothing."""

    pooling: str | None = None
    normalize: bool = False
    max_length: int | None = None


def read_pooling(folder: Path, config: BertConfig, chosen: str | None = None) -> StatedPooling:
    """Read how a checkpoint is to be pooled; None if that is unsupported and one is `chosen`.

    The published SimCSE checkpoints state it only in their names: the supervised ones keep the MLP
    over [CLS], which is stored as the pooler; the unsupervised ones drop it after training. The
    hub's cache names folders models--ORGANISATION--NAME/snapshots/COMMIT.

    Raises:
        CheckpointError: a damaged file, steps that this project has no pooling for, or a prompt
            before every text.
    """
    place = folder.absolute()  # a name for "." as well
    name = place.parent.parent.name if place.parent.name == "snapshots" else place.name
    with _in_their_format(folder):
        _refuse_default_prompt(folder)
        return _read_pooling(folder, name, config.num_hidden_layers, chosen)


@contextmanager
def _in_their_format(folder: Path) -> Iterator[None]:
    """Turn what values of another kind raise inside the block into a CheckpointError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(
            f"{folder}: modules.json or a file that it names is not in sentence-transformers' "
            f"format ({error!r})"
        ) from None


def _read_pooling(folder: Path, name: str, layers: int, chosen: str | None) -> StatedPooling:
    modules_file = folder / "modules.json"
    if not modules_file.is_file():
        if "unsup-simcse" in name:
            return StatedPooling("cls_before_pooler")
        return StatedPooling("cls") if "sup-simcse" in name else StatedPooling()
    modules = read_json(modules_file, CheckpointError)
    steps = [step["type"].rpartition(".")[2] for step in modules]
    paths = {
        step: folder / str(module["path"]) for step, module in zip(steps, modules, strict=True)
    }
    pooling = None
    try:
        pooling = _pooling_of_steps(steps, paths, folder, layers)
    except CheckpointError:
        if not chosen:
            raise
    settings_file = folder / "sentence_bert_config.json"
    settings = read_object(settings_file, CheckpointError) if settings_file.is_file() else {}
    length = settings.get("max_seq_length")
    if length is not None and not 3 <= length <= 1e9:
        raise CheckpointError(f"{settings_file}: max_seq_length is {length}; expected 3 or more")
    return StatedPooling(pooling, "Normalize" in steps, None if length is None else int(length))


def _pooling_of_steps(
    steps: list[str], paths: dict[str, Path], folder: Path, layers: int
) -> str | None:
    """Return the pooling that a folder's steps amount to, None if there is none among them."""
    if len(paths) < len(steps) or not paths.keys() <= KNOWN_STEPS:
        raise CheckpointError(
            f"{folder}: sentence-transformers' steps {', '.join(steps)} are not supported; "
            "give --pooling to choose another"
        )
    if "Pooling" not in paths:
        return None
    pooling = _pooling_of(
        read_json(paths["Pooling"] / "config.json", CheckpointError), steps, folder
    )
    if "WeightedLayerPooling" not in paths:
        return pooling
    if pooling != "avg":
        raise CheckpointError(
            f"{folder}: WeightedLayerPooling with another Pooling than the mean is not supported; "
            "give --pooling to choose another"
        )
    return _pooling_of_layers(paths["WeightedLayerPooling"], layers)


def _pooling_of_layers(step: Path, last: int) -> str:
    """Return which of the two averages over layers a WeightedLayerPooling is."""
    start = read_json(step / "config.json", CheckpointError)["layer_start"]
    weights = _step_tensors(step)["layer_weights"].tolist()
    layers = [start + index for index, weight in enumerate(weights) if weight]
    if start + len(weights) == last + 1 and len({weight for weight in weights if weight}) == 1:
        if layers == sorted({1, last}):
            return "avg_first_last"
        if layers == [last - 1, last]:
            return "avg_top2"
    raise CheckpointError(
        f"{step}: WeightedLayerPooling of other layers than the first and last or the last two, or "
        "with unequal weights, is not supported; give --pooling to choose another"
    )


def _refuse_default_prompt(folder: Path) -> None:
    """Raise CheckpointError if a prompt goes before every text: embeddings would lack it."""
    path = folder / "config_sentence_transformers.json"
    settings = read_object(path, CheckpointError) if path.is_file() else {}
    name = settings.get("default_prompt_name")
    if name is not None and (prompt := (settings.get("prompts") or {}).get(name)):
        raise CheckpointError(
            f"{path}: a default prompt, {prompt!r:.60}, is not supported; set default_prompt_name "
            "to null and give the prompt with the texts"
        )


def _pooling_of(config: dict[str, Any], steps: list[str], folder: Path) -> str:
    """Translate a Pooling config, in the old form (flags) or the new one (one mode)."""
    modes = {key.removeprefix("pooling_mode_") for key, value in config.items() if value is True}
    if isinstance(config.get("pooling_mode"), str):
        modes.add(config["pooling_mode"])
    modes -= {"include_prompt"}
    if modes & {"cls_token", "cls"} and len(modes) == 1:
        return "cls" if "Dense" in steps else "cls_before_pooler"
    if modes & {"mean_tokens", "mean"} and len(modes) == 1 and "Dense" not in steps:
        return "avg"
    raise CheckpointError(
        f"{folder}: sentence-transformers pooling {sorted(modes)} with {steps} is not supported; "
        f"give --pooling to choose another"
    )


def load_dense(folder: Path, model: BertModel) -> None:
    """Give the pooler the weights of sentence-transformers' Dense step, if the folder has one.

    In this project's folders both hold the same numbers; elsewhere only the Dense was trained.

    Raises:
        CheckpointError: a Dense that is not (H, H) with tanh.
    """
    modules_file = folder / "modules.json"
    with _in_their_format(folder):
        steps = read_json(modules_file, CheckpointError) if modules_file.is_file() else []
        for path in (folder / step["path"] for step in steps if step["type"].endswith(".Dense")):
            config = read_object(path / "config.json", CheckpointError)
            activation = str(config.get("activation_function"))
            if not activation.endswith(".Tanh") or model.pooler is None:
                raise CheckpointError(f"{path}: expected a Dense with Tanh, found {activation!r}")
            tensors = _step_tensors(path)
            renamed = {key.replace("linear.", "dense."): tensor for key, tensor in tensors.items()}
            load_module(model.pooler, renamed, path)


def _step_tensors(path: Path) -> Tensors:
    weights = path / "model.safetensors"
    return read_file(weights if weights.is_file() else path / "pytorch_model.bin")


def write_modules(
    folder: Path, model: BertModel, pooling: str, normalize: bool, max_length: int
) -> None:
    """Write modules.json and the folders it names, for one of the five poolings."""
    size = model.config.hidden_size
    steps = ["Transformer"]
    if pooling in ("avg_top2", "avg_first_last"):
        steps.append("WeightedLayerPooling")
        _write_layer_pooling(folder / "1_WeightedLayerPooling", model, pooling)
    mode = "cls_token" if pooling.startswith("cls") else "mean_tokens"
    flags = {
        f"pooling_mode_{known}": known == mode
        for known in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    }
    _write(
        folder / f"{len(steps)}_Pooling" / "config.json",
        {"word_embedding_dimension": size, **flags},
    )
    steps.append("Pooling")
    if pooling == "cls":
        _write_dense(folder / f"{len(steps)}_Dense", model)
        steps.append("Dense")
    if normalize:
        (folder / f"{len(steps)}_Normalize").mkdir()
        steps.append("Normalize")
    modules = [
        {
            "idx": index,
            "name": str(index),
            "path": f"{index}_{step}" if index else "",
            "type": f"sentence_transformers.models.{step}",
        }
        for index, step in enumerate(steps)
    ]
    _write(folder / "modules.json", modules)
    _write(
        folder / "sentence_bert_config.json",
        {"max_seq_length": max_length, "do_lower_case": False},
    )


def _write_dense(folder: Path, model: BertModel) -> None:
    """Write the pooler again, as sentence-transformers' Dense: same weights, same tanh."""
    assert model.pooler is not None
    size = model.config.hidden_size
    config = {
        "in_features": size,
        "out_features": size,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }
    _write(folder / "config.json", config)
    tensors = {
        "linear.weight": model.pooler.dense.weight,
        "linear.bias": model.pooler.dense.bias,
    }
    write_tensors(tensors, folder / "model.safetensors")


def _write_layer_pooling(folder: Path, model: BertModel, pooling: str) -> None:
    """Write weights that select two of the layers `layer_start`..last and ignore the others."""
    last = model.config.num_hidden_layers
    start = 1 if pooling == "avg_first_last" else last - 1
    weights = torch.zeros(last + 1 - start)
    weights[0] = weights[-1] = 1.0
    config = {
        "word_embedding_dimension": model.config.hidden_size,
        "layer_start": start,
        "num_hidden_layers": last,
    }
    _write(folder / "config.json", config)
    write_tensors({"layer_weights": weights}, folder / "model.safetensors")


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
