"""Cases of the parts "weights" and "adamw"."""

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

# ---------------------------------------------------------------------------------------- weights


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
    read_tensors = import_module("minbert.checkpoint").read_tensors
    checkpoint_folder = import_module("minbert.folder").CheckpointFolder
    with tempfile.TemporaryDirectory() as folder:
        torch.save(dict(given), Path(folder) / "pytorch_model.bin")
        return dict(sorted(read_tensors(checkpoint_folder(Path(folder))).items()))


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
    halves = {name: tensor.half() for name, tensor in given.items()}
    return _load(given, dict(given)) | _load(given, halves, "{} of float16")


def missing(given: Any) -> dict[str, Tensor]:
    """Weights without the module's bias or its buffer, and all of them."""
    without = {name: tensor for name, tensor in given.items() if name != "buffer"}
    answers = _beside_all(given, {"weight": given["weight"]}, "bias")
    return answers | _load(given, without, "{}, buffer", "buffer")


def other_shape(given: Any) -> dict[str, Tensor]:
    """Weights whose matrix is the other way round, or whose bias is a matrix, and all of them."""
    column = {**given, "bias": given["bias"][:, None]}
    answers = _beside_all(given, {**given, "weight": given["weight"].T}, "weight")
    return answers | _load(given, column, "{}, a column", "bias")


def not_finite(given: Any) -> dict[str, Tensor]:
    """Weights one of which is NaN, infinite, or a whole number."""
    answers: dict[str, Tensor] = {}
    for name, bias in (
        ("NaN", given["bias"] * float("nan")),
        ("infinity", given["bias"] / 0),
        ("whole numbers", given["bias"].long()),
    ):
        answers |= _beside_all(given, {**given, "bias": bias}, "bias", f", {name}")
    return answers


def _beside_all(
    given: Any, tensors: dict[str, Tensor], wrong: str, more: str = ""
) -> dict[str, Tensor]:
    # Whoever always refuses is not right.
    refused = _load(given, tensors, f"{{}}{more}", wrong)
    return refused | _load(given, dict(given), f"{{}} of all{more}")


def _load(
    given: Any, tensors: dict[str, Tensor], named: str = "{}", wrong: str = "nothing"
) -> dict[str, Tensor]:
    """Load into a module of zeros; return its weights, or what is said of the first wrong one."""
    load_module = import_module("minbert.checkpoint").load_module
    module = nn.Linear(given["weight"].shape[1], given["weight"].shape[0])
    module.register_buffer("buffer", torch.zeros(2))
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    try:
        load_module(module, tensors, Path("a/folder"))
    except import_module("minbert.config").CheckpointError as error:
        # What was copied before a refusal does not matter.
        words = str(error)
        answers = {
            "CheckpointError raised": torch.tensor(True),
            "it names the source": torch.tensor("a/folder" in words.replace("\\", "/")),
            "it names the first such tensor": torch.tensor(wrong in words),
        }
    else:
        state = dict(sorted(module.state_dict().items()))
        types = torch.tensor([tensor.dtype == torch.float32 for tensor in state.values()])
        answers = {
            "CheckpointError raised": torch.tensor(False),
            **state,
            "float32 as before": types,
        }
    return {named.format(name): tensor for name, tensor in answers.items()}


# ------------------------------------------------------------------------------------------ adamw


def draw_plain(draw: Any) -> dict[str, Any]:
    """Return a parameter and the gradients of a few steps."""
    shape = (draw.size(3, 5), draw.size(2, 4))
    return {
        "parameter": draw.floats(*shape),
        "gradients": draw.floats(draw.size(4, 6), *shape),
        "late parameter": draw.floats(*shape),
        "other parameter": draw.floats(*shape),
        "rate": 0.01 * draw.size(2, 9),
        "decay": 0.0,
        "beta1": 0.8,
        "beta2": 0.95,
        "eps": 1e-8,
    }


def plain(given: Any) -> dict[str, Tensor]:
    """The parameter after each of a few steps, without decay."""
    return _steps(given)


def _steps(given: Any) -> dict[str, Tensor]:
    parameter = nn.Parameter(given["parameter"].clone())
    # Its first gradient comes with the third step.
    late = nn.Parameter(given["late parameter"].clone())
    # Of another group, whose rate is its own.
    other = nn.Parameter(given["other parameter"].clone())
    optimizer = import_module("assignment.starter.adamw").AdamW(
        [{"params": [parameter, late]}, {"params": [other], "lr": 3 * given.number("rate")}],
        lr=given.number("rate"),
        betas=(given.number("beta1"), given.number("beta2")),
        eps=given.number("eps"),
        weight_decay=given.number("decay"),
    )
    states = {}
    for number, gradient in enumerate(given["gradients"], start=1):
        parameter.grad = gradient.clone()
        other.grad = gradient.clone()
        if number > 2:
            late.grad = gradient.clone()
        optimizer.step()
        states[f"after step {number}"] = parameter.detach().clone()
    states["a parameter whose gradients come later"] = late.detach()
    return {**states, "a parameter with a rate of its own": other.detach()}


def draw_decayed(draw: Any) -> dict[str, Any]:
    return {**draw_plain(draw), "decay": 0.1 * draw.size(2, 9)}


def decayed(given: Any) -> dict[str, Tensor]:
    """The same with weight decay."""
    return plain(given)


def draw_tiny_gradients(draw: Any) -> dict[str, Any]:
    """Return gradients beside which epsilon counts."""
    drawn = draw_plain(draw)
    return {**drawn, "gradients": 1e-3 * drawn["gradients"], "eps": 1e-3}


def tiny_gradients(given: Any) -> dict[str, Tensor]:
    """The same with gradients as small as epsilon."""
    return plain(given)
