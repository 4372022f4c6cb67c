"""The state of an interrupted training run on disk, so that it continues to the same final numbers.

Weights, optimizer, schedule, random generators, and the loop's own progress (step, history, best).
"""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from runtime.errors import StateError
from runtime.files import whole_file
from runtime.processes import gather_objects, is_main, main_decides, rank
from runtime.sealed import is_sealed, seal
from runtime.seeds import random_state, restore_random_state


class Stateful(Protocol):
    """A module, an optimizer, a schedule."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state: Any) -> Any: ...


class Trainer(Protocol):
    """A training loop: what its optimizer step changes, and where its state is kept."""

    trained: Any
    optimizer: Any
    schedule: Any
    state_path: Path | None


def save_trainer(trainer: Trainer, names: Sequence[str]) -> None:
    """Write what a later step depends on: weights, AdamW's moments, the place in the schedule.

    Args:
        trainer: in all processes; without a `state_path` nothing is written.
        names: of its attributes that hold its progress.
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
    """Write the run's state whole; if that fails, the older state stays.

    Args:
        path: where to write it.
        parts: what the optimizer step changes.
        progress: tensors, numbers, strings, lists and dicts of these.
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
        seal(temporary, path.name)


def saved_state(path: Path | None) -> Path | None:
    """Return the path of a saved state if there is one; all processes get the same answer."""
    found: Path | None = main_decides(path if path is not None and path.is_file() else None)
    return found


def load_training(path: Path, parts: dict[str, Stateful]) -> dict[str, Any]:
    """Restore `parts` and the random generators as they were saved; return the progress.

    Raises:
        StateError: a damaged or foreign file, or the state of another run.
    """
    if not is_sealed(path):
        raise StateError(
            f"{path}: damaged since it was saved, or by an earlier version; delete it to start over"
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        restore_random_state(state["random"][rank()])  # one per process
        return dict(state["progress"])
    except (
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
