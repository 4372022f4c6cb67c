"""Read and write checkpoints in the Hugging Face format; every key and shape is checked.

Weights load without executing code: safetensors, or `torch.load(weights_only=True)`. A tensor
that cannot be a weight is rejected with an error that names it. PyTorch would cast integers and
compute with NaN, and only the loss would look wrong.
"""

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from minbert.config import ARCHITECTURES, BertConfig, CheckpointError
from minbert.folder import CheckpointFolder
from minbert.hub import INDEX, PICKLE, SAFETENSORS
from runtime.commands import is_shortage
from runtime.files import SUMS, digest, fault_of, files_of, seal_folder, sealed_files, whole_folder

logger = logging.getLogger(__name__)

Tensors = dict[str, Tensor]
DIGEST = "sha-256"  # in the metadata of a file
HEAD = "cls.predictions."  # BERT's masked-language-model head
SIMCSE_MLP = "mlp.dense."
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def read_tensors(folder: CheckpointFolder, config: BertConfig | None = None) -> Tensors:
    """Read all weights of a checkpoint, named as in a bare BertModel, and check their sizes.

    Raises:
        CheckpointError: no weights, a missing shard, a truncated or foreign file, or sizes that
            differ from `config`.
    """
    # From here on a weight has one name, whichever library and architecture wrote it.
    tensors = _rename(tensors_in(folder.encoder))
    if config is not None:
        _check_sizes(tensors, config, folder)
    return tensors


def tensors_in(folder: CheckpointFolder) -> Tensors:
    """Read the weights in a folder: `model.safetensors`, a sharded index, or pickled ones."""
    if folder.has(SAFETENSORS):
        return read_file(folder.path / SAFETENSORS)
    if folder.has(INDEX):
        return _read_shards(folder)
    if folder.has(PICKLE):
        return read_file(folder.path / PICKLE)
    raise CheckpointError(
        f"{folder}: no weights; expected {SAFETENSORS}, {INDEX} with its shards, or {PICKLE}"
    )


def read_file(path: Path) -> Tensors:
    """Read one file of tensors, .safetensors or pickled, without executing code.

    Raises:
        CheckpointError: a truncated or foreign file, or one that has changed since `write_tensors`
            wrote it.
    """
    pickled = path.suffix != ".safetensors"
    try:
        if pickled:
            # A pickle is a program; with `weights_only` it may build tensors and nothing else.
            tensors: Tensors = torch.load(path, map_location="cpu", weights_only=True)
        else:
            # A header with names, types, shapes and places, then raw numbers: nothing to execute.
            tensors = load_file(path)
    # A damaged pickle can raise any kind of exception.
    except Exception as error:
        if is_shortage(error):
            raise
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(
            f"{path}: not a readable weights file, truncated or foreign ({reason})"
        ) from None
    if pickled:
        _check_plain(tensors, path)
    elif noted := _metadata(path).get(DIGEST):
        if noted != _noted_digest(tensors, read_about(path)):
            raise CheckpointError(
                f"{path}: has changed since it was saved; delete it to make it again"
            )
    return tensors


def _check_plain(tensors: object, path: Path) -> None:
    """Raise CheckpointError unless `tensors` is a dictionary of plain tensors by name."""
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


def _noted_digest(tensors: Tensors, about: dict[str, str]) -> str:
    return digest([tensors_digest(tensors), about])


def _read_shards(folder: CheckpointFolder) -> Tensors:
    # {"weight_map": {tensor: file of the same folder}}: every file is read once.
    index = folder.path / INDEX
    try:
        weight_map = folder.weight_index["weight_map"]
        shards = sorted(set(weight_map.values()))
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{index}: not a readable index of shards ({error!r})") from None
    tensors: Tensors = {}
    for shard in shards:
        if not isinstance(shard, str) or Path(shard).name != shard:
            raise CheckpointError(f"{index}: shard {shard!r} is not a file name of its folder")
        if not folder.has(shard):
            raise CheckpointError(f"{folder.path / shard}: missing; {INDEX} lists it")
        tensors |= read_file(folder.path / shard)
    for key in weight_map.keys() - tensors.keys():
        raise CheckpointError(f"{index}: tensor {key} is in none of its shards")
    return tensors


def _check_sizes(tensors: Tensors, config: BertConfig, folder: CheckpointFolder) -> None:
    """Check the sizes in config.json against the weights, before memory is allocated for them.

    All other tensors are compared when they are copied into the model.
    """
    # encoder.layer.0 ... encoder.layer.11 are twelve layers.
    layers = len({key.split(".")[2] for key in tensors if key.startswith("encoder.layer.")})
    if config.num_hidden_layers > layers:
        raise CheckpointError(
            f"{folder}: the weights have {layers} layers, config.json asks for "
            f"{config.num_hidden_layers}"
        )
    # Each of these sizes is the number of rows of one matrix (rows, H).
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


def _rename(tensors: Tensors) -> Tensors:
    """Rename all tensors as in BERT, without prefix and TensorFlow's gamma; leave out buffers."""
    renamed, tensors_of_mlp = {}, {}
    for key, tensor in tensors.items():
        key = key.removeprefix("module.")  # the prefix of DataParallel
        if key.startswith(SIMCSE_MLP):
            # SimCSE's name of its MLP over [CLS]; a pooler in the same file was not trained.
            tensors_of_mlp[key.replace(SIMCSE_MLP, "pooler.dense.")] = tensor
            continue
        for architecture in ARCHITECTURES.values():
            # bert.encoder.layer.0 ... -> encoder.layer.0 ..., lm_head.dense -> cls.predictions ...
            key = key.removeprefix(architecture.prefix)
            key = _replace_start(key, architecture.head)
        key = key.replace("LayerNorm.gamma", "LayerNorm.weight")
        key = key.replace("LayerNorm.beta", "LayerNorm.bias")
        if key != "embeddings.position_ids":  # a constant that old releases stored
            renamed[key] = tensor
    return renamed | tensors_of_mlp


def _replace_start(key: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        if key.startswith(old):
            return new + key.removeprefix(old)
    return key


def load_encoder(model: nn.Module, tensors: Tensors, folder: CheckpointFolder) -> None:
    """Copy a checkpoint into a BertModel, as `load_module` does, and log what was not used."""
    load_module(model, tensors, folder.path)
    if not any(key.startswith("pooler.") for key in model.state_dict()):
        logger.info("%s: has no pooler; [CLS] is available only before the pooler", folder)
    surplus = tensors.keys() - model.state_dict().keys()
    # Heads of other models in the same file, such as cls.seq_relationship; `minbert.mlm` and
    # `minbert.classifier` read theirs.
    if heads := {
        ".".join(key.split(".")[:2]) for key in surplus if not key.startswith((HEAD, "classifier."))
    }:
        logger.warning(
            "%s: ignored weights outside the encoder: %s", folder, ", ".join(sorted(heads))
        )


def load_module(module: nn.Module, tensors: Tensors, source: Path) -> None:
    """Copy `tensors` into all of `module`'s state; surplus tensors are left to the caller.

    Raises:
        CheckpointError: a tensor is missing, has another shape, or its numbers are not real and
            finite; names the first, and `source`.
    """
    state = module.state_dict()
    missing = [key for key in state if key not in tensors]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise CheckpointError(f"{source}: tensor {missing[0]}{more} is missing from the weights")
    for key, parameter in state.items():
        tensor = tensors[key]
        if tensor.shape != parameter.shape:
            raise CheckpointError(
                f"{source}: tensor {key} has shape {tuple(tensor.shape)}, "
                f"config.json asks for {tuple(parameter.shape)}"
            )
        # Copying would cast integers and accept NaN.
        if tensor.dtype not in FLOATS:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise CheckpointError(f"{source}: tensor {key} is of type {kind}; expected floats")
        if not tensor.isfinite().all():
            raise CheckpointError(
                f"{source}: tensor {key} holds NaN or infinity; the file is damaged, or the "
                "training that wrote it diverged"
            )
    # Float16 weights become float32 here, the type of the model's parameters.
    module.load_state_dict({key: tensors[key] for key in state})


def tensors_digest(tensors: Tensors) -> str:
    """Return a SHA-256 of names, shapes and values."""
    # Sorted, so the order in which a file or a model lists them does not matter.
    sha256 = hashlib.sha256()
    for key, tensor in sorted(tensors.items()):
        sha256.update(key.encode() + str(tuple(tensor.shape)).encode())
        values = tensor.detach().cpu().contiguous().flatten()
        sha256.update(values.view(torch.uint8).numpy().tobytes())  # NumPy has no bfloat16
    return sha256.hexdigest()


def write_tensors(tensors: Tensors, path: Path, about: dict[str, str] | None = None) -> None:
    """Write a safetensors file; the metadata hold `about`, if given, and a digest of both.

    Tensors are copied first, so views and shared memory do no harm.
    """
    whole = {key: tensor.detach().cpu().contiguous().clone() for key, tensor in tensors.items()}
    # Not the library's save_file, which makes files that only their owner can read.
    noted = about | {DIGEST: _noted_digest(whole, about)} if about else {}
    content = memoryview(save(whole, metadata={"format": "pt", **noted}))
    # Eight bytes with the size of the header, the header as JSON filled up with blanks, numbers.
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(bytes(content[8:end]))
    # The library writes metadata in random order; here equal contents give equal bytes.
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    with path.open("wb") as file:
        file.writelines((content[:8], text.ljust(end - 8), content[end:]))


def read_about(path: Path) -> dict[str, str]:
    """Return the `about` that `write_tensors` stored in a file, {} if it is missing or damaged."""
    return {key: text for key, text in _metadata(path).items() if key not in ("format", DIGEST)}


def _metadata(path: Path) -> dict[str, str]:
    try:
        with safe_open(path, "pt") as file:
            return dict(file.metadata() or {})
    except (OSError, SafetensorError):
        return {}


def check_target(target: Path) -> None:
    """Refuse a target that is neither a checkpoint nor an empty folder: saving would replace it.

    Raises:
        CheckpointError: a file, a folder that was not saved here, or one with other files in it.
    """
    listed = sealed_files(target)
    is_empty = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    if "config.json" not in listed and not is_empty:
        raise CheckpointError(
            f"{target}: exists and is no checkpoint that was saved here; name another folder"
        )
    for name in files_of(target):
        if name not in listed:
            raise CheckpointError(
                f"{target}: {name} in it is not part of the checkpoint and would be lost; name "
                "another folder, or move the file"
            )


def check_whole(folder: Path) -> None:
    """Compare a checkpoint with the list of its files that `whole_checkpoint` wrote, if it has one.

    Raises:
        CheckpointError: a file is missing or has changed; names the first.
    """
    if fault := fault_of(folder):
        raise CheckpointError(
            f"{folder}: {fault} since it was saved; delete the folder to make it again, or {SUMS} "
            "in it if the change is yours"
        )


@contextmanager
def whole_checkpoint(target: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces `target` only when filled without an error.

    A list of its files with their SHA-256 is added; `check_whole` compares. Refuses targets as
    `check_target` does.
    """
    check_target(target)
    with whole_folder(target) as folder:
        yield folder
        seal_folder(folder)
