"""Read and write the files that define a checkpoint's pooling for sentence-transformers.

`modules.json` lists the steps (Transformer, Pooling, Dense, Normalize), each with a folder; they
are applied in order. Three forms have a name in this project: SimCSE's `cls` is
Pooling([CLS]) and Dense(tanh); the averages over two layers are WeightedLayerPooling and
Pooling(mean). A Normalize at the end is the encoder's `normalize`. All other steps after Pooling
are `minbert.steps`.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from minbert.checkpoint import Tensors, load_module, tensors_in, write_tensors
from minbert.config import LARGEST, CheckpointError
from minbert.folder import ENCODERS, CheckpointFolder, Step, write_json
from minbert.model import BertModel
from minbert.prompts import FILE as PROMPTS_FILE
from minbert.prompts import Prompts, read_prompts
from minbert.steps import ACTIVATIONS, Dense, Normalize, width_after

logger = logging.getLogger(__name__)

# The key of the embedding in the dictionaries of sentence-transformers.
EMBEDDING = "sentence_embedding"
# Our poolings by the modes of sentence-transformers' Pooling, under their old and new names.
MODES = {
    "cls_token": "cls_before_pooler",
    "cls": "cls_before_pooler",
    "mean_tokens": "avg",
    "mean": "avg",
}
FLAG = "pooling_mode_"  # how the old form begins, a flag for each mode


class StatedPooling(NamedTuple):
    """The pooling settings of a checkpoint folder; None where it states nothing."""

    pooling: str | None = None
    steps: nn.Sequential = nn.Sequential()  # after the pooling, without the last Normalize
    normalize: bool = False
    max_length: int | None = None
    pooler: Tensors | None = None  # of the Dense that is SimCSE's MLP over [CLS]
    prompts: Prompts = Prompts()


def read_pooling(folder: CheckpointFolder, chosen: str | None = None) -> StatedPooling:
    """Read how a checkpoint is to be pooled; None if that is unsupported and one is `chosen`.

    Raises:
        CheckpointError: a damaged file, or a step that this project does not compute.
    """
    with _in_their_format(folder.path):
        if not folder.steps:
            return StatedPooling(_pooling_of_name(folder, chosen), prompts=read_prompts(folder))
        length = _check_reading(folder)
        try:
            _refuse_cut_embeddings(folder)
            stated = _follow(folder)
        except CheckpointError as error:
            if not chosen:
                raise CheckpointError(f"{error}; give --pooling to read without it") from None
            stated = StatedPooling(normalize=any(s.name == "Normalize" for s in folder.steps))
            logger.warning("%s; left out, for --pooling %s", error, chosen)
        return stated._replace(max_length=length)


@contextmanager
def _in_their_format(folder: Path) -> Iterator[None]:
    """Turn errors from values of the wrong type inside the block into a CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CheckpointError(
            f"{folder}: modules.json or a file that it names is not in sentence-transformers' "
            f"format ({error!r:.100})"
        ) from None


def _check_reading(folder: CheckpointFolder) -> int | None:
    """Return the maximum length in `sentence_config`; refuse settings that are not supported."""
    path, settings = folder.sentence_config
    length = settings.get("max_seq_length")
    number = isinstance(length, int | float) and not isinstance(length, bool)
    if length is not None and not (number and 3 <= length <= 1e9):
        raise CheckpointError(f"{path}: max_seq_length is {length!r:.60}; expected 3 or more")
    if len(folder.steps) == 1:  # a cross-encoder
        return None if length is None else int(length)
    # Settings that replace the plain forward pass or the maximum length.
    modes = settings.get("modality_config") or {}
    output = modes.get("text", {}).get("method_output_name", "last_hidden_state")
    for name, value, usual in (
        ("transformer_task", settings.get("transformer_task"), "feature-extraction"),
        ("module_output_name", settings.get("module_output_name"), "token_embeddings"),
        ("method_output_name", output, "last_hidden_state"),
        ("query_length", settings.get("query_length"), None),
        ("document_length", settings.get("document_length"), None),
        ("query_expansion", settings.get("query_expansion"), None),
    ):
        if value not in (None, usual):
            wanted = f"only {usual} is" if usual else "it is not"
            raise CheckpointError(f"{path}: {name} is {value!r:.60}; {wanted} supported")
    return None if length is None else int(length)


def _pooling_of_name(folder: CheckpointFolder, chosen: str | None) -> str | None:
    """Return the pooling of a published SimCSE checkpoint, which only its name states.

    The supervised ones keep the MLP over [CLS], which is stored as the pooler; the unsupervised
    ones drop it after training.
    """
    place = folder.path.absolute()  # a name for "." as well
    # The hub's cache names folders models--ORGANISATION--NAME/snapshots/COMMIT.
    name = place.parent.parent.name if place.parent.name == "snapshots" else place.name
    if "unsup-simcse" in name:
        return "cls_before_pooler"
    if "sup-simcse" in name:
        return "cls"
    architectures = folder.config.get("architectures") if folder.has("config.json") else None
    if not chosen and str(architectures).endswith("ForCL']"):  # SimCSE's own training script
        logger.warning(
            "%s: the name of this SimCSE model does not say whether it is supervised; [CLS] "
            "is read without the MLP (unsupervised); --pooling cls uses the MLP",
            place,
        )
    return None


def _refuse_cut_embeddings(folder: CheckpointFolder) -> None:
    width = folder.config_sentence_transformers.get("truncate_dim")
    if width is not None:
        raise CheckpointError(
            f"{folder.path / PROMPTS_FILE}: truncate_dim is {width!r:.60}, which is not supported; "
            "set it to null, which leaves all dimensions"
        )


def _follow(folder: CheckpointFolder) -> StatedPooling:
    """Return the pooling and all later steps of a folder, without the maximum text length."""
    first, *steps = folder.steps
    if first.name not in ENCODERS:
        raise CheckpointError(f"{folder}: the step {first.name!r:.80} is not supported")
    if not steps:  # a cross-encoder, whose folder lists its encoder only
        return StatedPooling(prompts=read_prompts(folder))
    size, layers = folder.bert_config.hidden_size, None
    if steps[0].name == "WeightedLayerPooling":
        layers = _pooling_of_layers(steps.pop(0).folder, folder)
    if not steps or steps[0].name != "Pooling":
        raise CheckpointError(
            f"{folder}: the step {steps[0].name if steps else 'nothing'!r:.80} is not supported "
            "without Pooling before it"
        )
    pooling, prompts = _pooling_of_modes(folder, steps.pop(0).folder)
    if layers and pooling != "avg":
        raise CheckpointError(
            f"{folder}: WeightedLayerPooling with another Pooling than the mean is not supported"
        )
    pooling, pooler = layers or pooling, None

    modules: list[Dense | Normalize] = []
    for step in steps:
        width = width_after(nn.Sequential(*modules), size)
        if (module := _module_of(step, width)) is not None:
            modules.append(module)
    # SimCSE's MLP, which is BERT's pooler.
    if pooling == "cls_before_pooler" and modules and _is_pooler(modules[0], size):
        dense = modules.pop(0).state_dict()
        pooling = "cls"
        pooler = {f"pooler.dense.{part}": dense[f"linear.{part}"] for part in ("weight", "bias")}
    normalize = False
    while modules and isinstance(modules[-1], Normalize):
        normalize = bool(modules.pop())
    sequence = nn.Sequential(*modules).requires_grad_(False)
    return StatedPooling(pooling, sequence, normalize, None, pooler, prompts)


def _pooling_of_modes(folder: CheckpointFolder, step: CheckpointFolder) -> tuple[str, Prompts]:
    """Return our pooling of a Pooling step, and the checkpoint's prompts."""
    config = step.config
    # The new form has a name or several, the old one a flag for each mode; the mean is the default.
    flags = [key for key, value in config.items() if value is True and key.startswith(FLAG)]
    stated = config.get("pooling_mode", [key.removeprefix(FLAG) for key in flags] or "mean")
    modes = [stated] if isinstance(stated, str) else list(stated)
    if len(modes) != 1 or modes[0] not in MODES:
        raise CheckpointError(
            f"{step}: Pooling by {' and '.join(map(str, modes))} is not supported; one mode is, "
            "cls or mean"
        )
    pooled = config.get("include_prompt", True)
    if not isinstance(pooled, bool):
        raise CheckpointError(f"{step}: include_prompt is {pooled!r:.60}; expected true or false")
    return MODES[modes[0]], read_prompts(folder, pooled)


def _pooling_of_layers(step: CheckpointFolder, folder: CheckpointFolder) -> str | None:
    """Return our average over two layers that a WeightedLayerPooling computes.

    Both are of two layers with equal weights. None is returned where sentence-transformers passes
    over the step, since the encoder returns the states of its last layer only.
    """
    outputs = folder.encoder.config | folder.sentence_arguments("config_kwargs", "config_args")
    if not outputs.get("output_hidden_states"):
        logger.warning(
            "%s: config.json has no output_hidden_states; WeightedLayerPooling is left out, as in "
            "sentence-transformers",
            folder,
        )
        return None
    last = folder.bert_config.num_hidden_layers
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
        "with unequal weights, is not supported"
    )


def _module_of(step: Step, width: int) -> Dense | Normalize | None:
    """Return a step after Pooling with its weights, None for one without effect when encoding.

    `width` is the number of dimensions before it.
    """
    folder = step.folder
    if step.name not in ("Dense", "Normalize", "Dropout"):
        raise CheckpointError(
            f"{folder}: the step {step.name!r:.80} is not supported; Dense and Normalize are"
        )
    # Older versions write no file for Normalize.
    config = folder.config if step.name == "Dense" or folder.has("config.json") else {}
    for key in ("module_input_name", "module_output_name"):
        if (name := config.get(key)) not in (None, EMBEDDING):
            raise CheckpointError(
                f"{folder}/config.json: {key} is {name!r:.60}; only {EMBEDDING} is supported"
            )
    if step.name == "Dense":
        return _dense_of(folder, config, width)
    return Normalize() if step.name == "Normalize" else None


def _dense_of(folder: CheckpointFolder, config: dict[str, Any], width: int) -> Dense:
    """Return a Dense step with its weights."""
    path = folder.path / "config.json"
    size_in, size_out = (_size(config, key, path) for key in ("in_features", "out_features"))
    if size_in != width:
        raise CheckpointError(
            f"{path}: in_features is {size_in}, but the step before it gives {width} dimensions"
        )
    flags = [config.get(key, default) for key, default in (("bias", True), ("use_residual", False))]
    if not all(isinstance(flag, bool) for flag in flags):
        raise CheckpointError(f"{path}: bias and use_residual are true or false")
    bias, use_residual = flags
    dotted = config.get("activation_function", "torch.nn.Tanh")
    module, _, activation = str(dotted).rpartition(".")
    if activation not in ACTIVATIONS or not f"{module}.".startswith("torch.nn."):
        raise CheckpointError(
            f"{path}: activation_function is {dotted!r:.80}; supported are torch.nn's "
            f"{', '.join(ACTIVATIONS)}"
        )
    tensors = tensors_in(folder)
    # Before memory is taken for the sizes that the file states.
    if "linear.weight" not in tensors:
        raise CheckpointError(f"{folder}: tensor linear.weight is missing from the weights")
    if (shape := tuple(tensors["linear.weight"].shape)) != (size_out, size_in):
        raise CheckpointError(
            f"{folder}: tensor linear.weight has shape {shape}, config.json asks for "
            f"{(size_out, size_in)}"
        )
    dense = Dense(size_in, size_out, bias, activation, use_residual)
    if surplus := sorted(tensors.keys() - dense.state_dict().keys()):
        raise CheckpointError(f"{folder}: tensor {surplus[0]} does not match config.json")
    load_module(dense, tensors, folder.path)
    return dense


def _size(config: dict[str, Any], key: str, path: Path) -> int:
    size = config.get(key)
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= LARGEST:
        raise CheckpointError(f"{path}: {key} is {size!r:.60}; expected a number of dimensions")
    return size


def _is_pooler(module: Dense | Normalize, size: int) -> bool:
    """Return whether a step has the form of BERT's pooler: (H, H), with bias and tanh."""
    activation = "torch.nn.modules.activation.Tanh"
    return isinstance(module, Dense) and module.settings == {
        "in_features": size,
        "out_features": size,
        "bias": True,
        "activation_function": activation,
    }


class Written(NamedTuple):
    """A step to write: its class, and the content of its folder."""

    name: str
    config: dict[str, Any] | None = None
    tensors: Tensors | None = None


def write_modules(
    folder: Path,
    model: BertModel,
    pooling: str,
    normalize: bool,
    max_length: int,
    steps: nn.Sequential | None = None,
    prompts: Prompts | None = None,
) -> None:
    """Write modules.json and the folders it names, for a pooling and the steps after it."""
    written = _of_pooling(model, pooling, prompts is None or prompts.pooled)
    for step in steps or ():
        assert isinstance(step, Dense | Normalize)
        weights = dict(step.state_dict())
        written.append(Written(type(step).__name__, step.settings or None, weights or None))
    if normalize:
        written.append(Written("Normalize"))

    modules = []
    for index, (step_name, config, tensors) in enumerate(written):
        path = f"{index}_{step_name}" if index else ""  # the encoder itself is not in a folder
        (folder / path).mkdir(exist_ok=True)
        if config:
            write_json(folder / path / "config.json", config)
        if tensors:
            write_tensors(tensors, folder / path / "model.safetensors")
        name = f"sentence_transformers.models.{step_name}"
        modules.append({"idx": index, "name": str(index), "path": path, "type": name})
    write_json(folder / "modules.json", modules)
    settings: dict[str, Any] = {"max_seq_length": max_length, "do_lower_case": False}
    if model.pooler is None:  # else transformers would warn of fresh weights that nothing reads
        settings["model_args"] = {"add_pooling_layer": False}
    write_json(folder / "sentence_bert_config.json", settings)
    if prompts and prompts.stated:
        write_json(folder / PROMPTS_FILE, prompts.stated)


def _of_pooling(model: BertModel, pooling: str, with_prompt: bool) -> list[Written]:
    """Return the encoder and the steps that make up one of our poolings."""
    size, last = model.config.hidden_size, model.config.num_hidden_layers
    written = [Written("Transformer")]
    if pooling in ("avg_top2", "avg_first_last"):
        # Weights that select two of the layers `layer_start`..last and ignore the others.
        start = 1 if pooling == "avg_first_last" else last - 1
        weights = torch.zeros(last + 1 - start, dtype=torch.float32)
        weights[0] = weights[-1] = 1.0
        layers = {
            "word_embedding_dimension": size,
            "layer_start": start,
            "num_hidden_layers": last,
        }
        written.append(Written("WeightedLayerPooling", layers, {"layer_weights": weights}))
    mode = "cls_token" if pooling.startswith("cls") else "mean_tokens"
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    flags = {f"{FLAG}{known}": known == mode for known in modes}
    if not with_prompt:
        flags["include_prompt"] = False
    written.append(Written("Pooling", {"word_embedding_dimension": size, **flags}))
    if pooling == "cls":
        # The pooler again, as sentence-transformers' Dense: same weights, same tanh.
        assert model.pooler is not None
        dense = model.pooler.dense
        config = {
            "in_features": size,
            "out_features": size,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        }
        tensors = {"linear.weight": dense.weight, "linear.bias": dense.bias}
        written.append(Written("Dense", config, tensors))
    return written
