"""Shared parts of training loops: seeds, rows of a step, AdamW, its schedule, saved states."""

import math
import pickle
import random
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from inspect import unwrap
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile, ZipFile

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from runtime.errors import StateError, TrainingError
from runtime.files import whole_file
from runtime.processes import gather_objects, is_main, main_decides, rank, world_size


def set_seed(seed: int) -> None:
    """Seed every generator in use."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def random_state() -> dict[str, Any]:
    """Return the states of torch's generators, which draw dropout and masking."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def restore_random_state(state: dict[str, Any]) -> None:
    """Set the generators back to a state that `random_state` returned."""
    torch.set_rng_state(state["cpu"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


def steps_per_epoch(count: int, batch_size: int) -> int:
    """Return the number of batches per epoch of `count` examples; all processes share each batch.

    A last batch with fewer examples than processes is left out; the next epoch has another order.

    Raises:
        TrainingError: a batch has fewer examples than there are processes.
    """
    if min(count, batch_size) < world_size():
        raise TrainingError(
            f"batches of {min(count, batch_size)} cannot feed {world_size()} processes"
        )
    return math.ceil((count - world_size() + 1) / batch_size)


def batch_rows(step: int, count: int, batch_size: int, seed: int) -> np.ndarray:
    """Return the rows of a step: every epoch reads all `count` rows in its own seeded order."""
    epoch, position = divmod(step, steps_per_epoch(count, batch_size))
    return _epoch_order(count, seed, epoch)[position * batch_size :][:batch_size]


@lru_cache(maxsize=8)  # joint training reads rows in one order per task
def _epoch_order(count: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(count)


class AdamW(torch.optim.AdamW):
    """PyTorch's AdamW without the wrappers that keep PyTorch's compiler away from its methods.

    Nothing is compiled here, but the first call of a wrapper would load the compiler: 800 modules,
    which take a second in every command that trains.
    """

    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))
    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    state_dict = unwrap(torch.optim.AdamW.state_dict)
    load_state_dict = unwrap(torch.optim.AdamW.load_state_dict)


def adamw(
    modules: Iterable[tuple[nn.Module, float]], weight_decay: float, undecayed: Sequence[str] = ()
) -> AdamW:
    """Return AdamW over (module, learning rate) pairs.

    Matrices are decayed. Biases and layer norms, the parameters of one dimension, are not (BERT's
    rule), nor are those whose name contains one of `undecayed`.
    """
    groups = []
    for module, learning_rate in modules:
        decayed: list[nn.Parameter] = []
        plain: list[nn.Parameter] = []
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                bare = parameter.ndim < 2 or any(part in name for part in undecayed)
                (plain if bare or not weight_decay else decayed).append(parameter)
        # Every group needs a call of the kernel, which takes as long as a small head's update.
        for parameters, decay in ((decayed, weight_decay), (plain, 0.0)):
            if parameters:
                groups.append({"params": parameters, "lr": learning_rate, "weight_decay": decay})
    return AdamW(groups, eps=1e-8, fused=True)


def linear_schedule(
    optimizer: torch.optim.Optimizer,
    num_steps: int,
    warmup_ratio: float,
) -> LambdaLR:
    """Return a schedule: a linear rise in the first steps, then a linear fall to 0."""
    return LambdaLR(optimizer, linear_factor(num_steps, warmup_ratio))


def linear_factor(num_steps: int, warmup_ratio: float) -> Callable[[int], float]:
    """Return the factor of the learning rate in a step, counted from 0."""
    warmup = round(num_steps * warmup_ratio)
    decay = max(0, num_steps - warmup)

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return min(1.0, max(0, num_steps - step) / max(1, decay))

    return factor


def check_finite(value: float, step: int) -> None:
    """Stop a training run that has diverged, before it wastes hours.

    Raises:
        TrainingError: a loss or a logit is infinite or not a number.
    """
    if not math.isfinite(value):
        raise TrainingError(f"training diverged to {value} at step {step}; lower the learning rate")


def host_copy(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a copy of tensors on the host, which further training does not change."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}


class Stateful(Protocol):
    """A module, an optimizer, a schedule."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state: Any) -> Any: ...


class Trainer(Protocol):
    """A training loop: the modules that its optimizer changes, and the path of its state."""

    trained: Any
    optimizer: Any
    schedule: Any
    state_path: Path | None


def save_trainer(trainer: Trainer, names: Sequence[str]) -> None:
    """Write everything that later steps need: weights, AdamW's moments, position in the schedule.

    All processes call this; `names` are the attributes that hold the trainer's progress.
    """
    if trainer.state_path is not None:
        progress = {name: getattr(trainer, name) for name in names}
        save_training(trainer.state_path, _parts(trainer), progress)


def resume_trainer(trainer: Trainer) -> bool:
    """Continue from the state that `save_trainer` wrote; return whether there is one.

    Raises:
        StateError: a damaged or foreign file, or the state of another run.
    """
    path = saved_state(trainer.state_path)
    if path is not None:
        for name, value in load_training(path, _parts(trainer)).items():
            setattr(trainer, name, value)
    return path is not None


def _parts(trainer: Trainer) -> dict[str, Stateful]:
    return {name: getattr(trainer, name) for name in ("trained", "optimizer", "schedule")}


def save_training(path: Path, parts: dict[str, Stateful], progress: dict[str, Any]) -> None:
    """Write the run's state atomically; if that fails, the older state is kept.

    `parts` are the objects that an optimizer step changes; `progress` may hold tensors, numbers,
    strings, lists and dicts.
    """
    state = {name: part.state_dict() for name, part in parts.items()}
    state |= {"progress": progress, "random": gather_objects(random_state())}  # one per process
    if not is_main():
        return
    with whole_file(path) as temporary:
        try:
            torch.save(state, temporary)
        except RuntimeError as error:  # torch's error for a full disk
            raise OSError(str(error)) from None


def saved_state(path: Path | None) -> Path | None:
    """Return the path of a saved state if there is one; all processes get the same answer."""
    existing: Path | None = main_decides(path if path is not None and path.is_file() else None)
    return existing


def load_training(path: Path, parts: dict[str, Stateful]) -> dict[str, Any]:
    """Restore `parts` and the random generators as they were saved; return the progress.

    Raises:
        StateError: a damaged or foreign file, or the state of another run.
    """
    try:
        # A saved state is a zip archive, whose sums torch.load does not check.
        with ZipFile(path) as archive:
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} is damaged")
        state = torch.load(path, map_location="cpu", weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        restore_random_state(state["random"][rank()])  # one per process
        return dict(state["progress"])
    except (
        BadZipFile,
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
        LookupError,
        TypeError,
    ) as error:
        reason = " ".join(str(error).split())[:200]
        raise StateError(
            f"{path}: not the state of this training run ({reason}); delete it to start over"
        ) from None
