"""The files that tell sentence-transformers how to pool a checkpoint, in and out.

`modules.json` lists the steps (Transformer, Pooling, Dense, Normalize), each with a folder.
SimCSE's `cls` is Pooling([CLS]) and Dense(tanh); the averages over two layers are
WeightedLayerPooling and Pooling(mean).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from minbert.checkpoint import Tensors, load_module, tensors_in, write_tensors
from minbert.config import CheckpointError
from minbert.folder import CheckpointFolder, write_json
from minbert.model import BertModel

UNSUPPORTED = "is not supported; give --pooling to choose another"
KNOWN_STEPS = {"Transformer", "WeightedLayerPooling", "Pooling", "Dense", "Dropout", "Normalize"}


class StatedPooling(NamedTuple):
    """What a checkpoint folder says about pooling; None where it says nothing."""

    pooling: str | None = None
    normalize: bool = False
    max_length: int | None = None
    dense: CheckpointFolder | None = None  # the folder of the Dense step


def read_pooling(folder: CheckpointFolder, chosen: str | None = None) -> StatedPooling:
    """Read how a checkpoint is to be pooled; None if that is unsupported and one is `chosen`.

    Raises:
        CheckpointError: a damaged file, steps that this project has no pooling for, or a prompt
            before every text.
    """
    with _in_their_format(folder.path):
        _refuse_default_prompt(folder)
        if not folder.has("modules.json"):
            return StatedPooling(_pooling_of_name(folder.path))
        pooling = None
        try:
            pooling = _pooling_of_steps(folder)
        except CheckpointError:
            if not chosen:
                raise
        length = folder.sentence_bert_config.get("max_seq_length")
        if length is not None and not 3 <= length <= 1e9:
            raise CheckpointError(
                f"{folder}/sentence_bert_config.json: max_seq_length is {length}; expected 3 or "
                "more"
            )
        length = None if length is None else int(length)
        steps = dict(folder.steps)
        return StatedPooling(pooling, "Normalize" in steps, length, steps.get("Dense"))


@contextmanager
def _in_their_format(folder: Path) -> Iterator[None]:
    """Turn what values of another kind raise inside the block into a CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CheckpointError(
            f"{folder}: modules.json or a file that it names is not in sentence-transformers' "
            f"format ({error!r})"
        ) from None


def _refuse_default_prompt(folder: CheckpointFolder) -> None:
    """Raise CheckpointError if a prompt goes before every text: embeddings would lack it."""
    settings = folder.config_sentence_transformers
    name = settings.get("default_prompt_name")
    if name is not None and (prompt := (settings.get("prompts") or {}).get(name)):
        raise CheckpointError(
            f"{folder}/config_sentence_transformers.json: a default prompt, {prompt!r:.60}, is not "
            "supported; set default_prompt_name to null and give the prompt with the texts"
        )


def _pooling_of_name(folder: Path) -> str | None:
    """Return the pooling of a published SimCSE checkpoint, which only its name states.

    The supervised ones keep the MLP over [CLS], which is stored as the pooler; the unsupervised
    ones drop it after training.
    """
    place = folder.absolute()  # a name for "." as well
    # The hub's cache names folders models--ORGANISATION--NAME/snapshots/COMMIT.
    name = place.parent.parent.name if place.parent.name == "snapshots" else place.name
    if "unsup-simcse" in name:
        return "cls_before_pooler"
    return "cls" if "sup-simcse" in name else None


def _pooling_of_steps(folder: CheckpointFolder) -> str | None:
    """Return the pooling that a folder's steps amount to, None if there is none among them."""
    names, steps = [step.name for step in folder.steps], dict(folder.steps)
    if len(steps) < len(names) or not steps.keys() <= KNOWN_STEPS:
        raise CheckpointError(
            f"{folder}: sentence-transformers' steps {', '.join(names)} are not supported; "
            "give --pooling to choose another"
        )
    if "Pooling" not in steps:
        return None

    # The old form has a flag for each mode, the new one a single name.
    config = steps["Pooling"].config
    modes = {key.removeprefix("pooling_mode_") for key, value in config.items() if value is True}
    if isinstance(config.get("pooling_mode"), str):
        modes.add(config["pooling_mode"])
    modes -= {"include_prompt"}
    if modes in ({"cls_token"}, {"cls"}):
        pooling = "cls" if "Dense" in steps else "cls_before_pooler"
    elif modes in ({"mean_tokens"}, {"mean"}) and "Dense" not in steps:
        pooling = "avg"
    else:
        raise CheckpointError(
            f"{folder}: sentence-transformers pooling {sorted(modes)} with {names} {UNSUPPORTED}"
        )
    if "WeightedLayerPooling" not in steps:
        return pooling
    if pooling != "avg":
        raise CheckpointError(
            f"{folder}: WeightedLayerPooling with another Pooling than the mean {UNSUPPORTED}"
        )
    return _pooling_of_layers(steps["WeightedLayerPooling"], folder.bert_config.num_hidden_layers)


def _pooling_of_layers(step: CheckpointFolder, last: int) -> str:
    """Return which of our two averages over layers a WeightedLayerPooling is.

    Both are of two layers with equal weights; `last` is the number of the last layer.
    """
    start = step.config["layer_start"]
    weights = tensors_in(step)["layer_weights"].tolist()
    layers = [start + index for index, weight in enumerate(weights) if weight]
    if start + len(weights) == last + 1 and len({weight for weight in weights if weight}) == 1:
        if layers == sorted({1, last}):
            return "avg_first_last"
        if layers == [last - 1, last]:
            return "avg_top2"
    raise CheckpointError(
        f"{step}: WeightedLayerPooling of other layers than the first and last or the last two, or "
        f"with unequal weights, {UNSUPPORTED}"
    )


def load_dense(step: CheckpointFolder, model: BertModel) -> None:
    """Give the pooler the weights of sentence-transformers' Dense step in its folder.

    In this project's folders both hold the same numbers; elsewhere only the Dense was trained.

    Raises:
        CheckpointError: a Dense that is not (H, H) with tanh.
    """
    with _in_their_format(step.path.parent):
        activation = str(step.config.get("activation_function"))
        if not activation.endswith(".Tanh") or model.pooler is None:
            raise CheckpointError(f"{step}: expected a Dense with Tanh, found {activation!r}")
        tensors = tensors_in(step)
        renamed = {key.replace("linear.", "dense."): tensor for key, tensor in tensors.items()}
        load_module(model.pooler, renamed, step.path)


def write_modules(
    folder: Path, model: BertModel, pooling: str, normalize: bool, max_length: int
) -> None:
    """Write modules.json and the folders it names, for one of the five poolings."""
    size, last = model.config.hidden_size, model.config.num_hidden_layers
    # Each step's config.json and weights, by its name and in order.
    steps: dict[str, tuple[dict[str, Any] | None, Tensors | None]] = {"Transformer": (None, None)}
    if pooling in ("avg_top2", "avg_first_last"):
        # Weights that select two of the layers `layer_start`..last and ignore the others.
        start = 1 if pooling == "avg_first_last" else last - 1
        weights = torch.zeros(last + 1 - start)
        weights[0] = weights[-1] = 1.0
        steps["WeightedLayerPooling"] = (
            {
                "word_embedding_dimension": size,
                "layer_start": start,
                "num_hidden_layers": last,
            },
            {"layer_weights": weights},
        )
    mode = "cls_token" if pooling.startswith("cls") else "mean_tokens"
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    flags = {f"pooling_mode_{known}": known == mode for known in modes}
    steps["Pooling"] = ({"word_embedding_dimension": size, **flags}, None)
    if pooling == "cls":
        # The pooler again, as sentence-transformers' Dense: same weights, same tanh.
        assert model.pooler is not None
        dense = model.pooler.dense
        steps["Dense"] = (
            {
                "in_features": size,
                "out_features": size,
                "bias": True,
                "activation_function": "torch.nn.modules.activation.Tanh",
            },
            {"linear.weight": dense.weight, "linear.bias": dense.bias},
        )
    if normalize:
        steps["Normalize"] = (None, None)

    modules = []
    for index, (step, (config, tensors)) in enumerate(steps.items()):
        path = f"{index}_{step}" if index else ""  # the encoder itself is not in a folder
        (folder / path).mkdir(exist_ok=True)
        if config:
            write_json(folder / path / "config.json", config)
        if tensors:
            write_tensors(tensors, folder / path / "model.safetensors")
        name = f"sentence_transformers.models.{step}"
        modules.append({"idx": index, "name": str(index), "path": path, "type": name})
    write_json(folder / "modules.json", modules)
    settings: dict[str, Any] = {"max_seq_length": max_length, "do_lower_case": False}
    if model.pooler is None:  # else transformers would warn of fresh weights that nothing reads
        settings["model_args"] = {"add_pooling_layer": False}
    write_json(folder / "sentence_bert_config.json", settings)
