"""The state of an interrupted training run on disk, so that it continues to the same final numbers.

Weights, optimizer, schedule, random generators, and the loop's own progress (step, history, best).
Feeds: the training loops.
"""

import pickle
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
