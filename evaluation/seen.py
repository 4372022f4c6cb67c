"""What a backbone has seen, from the notes that tuning leaves beside its weights.

Reads: training.json, the files it names. Feeds: opening.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from data.overlap import Seen
from data.selection import selection_pairs
from data.trained_on import note_file
from minbert.config import CheckpointError
from minbert.hub import find_checkpoint
from runtime.json_file import read_object

logger = logging.getLogger(__name__)

RANDOM = "random:"  # before the name of a backbone: the same encoder with random weights
PATHS = ("trained_on", "selected_by", "backbone")


def seen_by(name: str, trained_on: Sequence[Path]) -> Seen:
    """Return the texts that a backbone was trained on or selected by, as far as they are known.

    A folder that this project tuned notes its training file, its selection set and the checkpoint
    that it was tuned from, which may have notes of its own. Where one of them has moved, a warning
    says so: its texts count as unseen. Random weights have seen nothing.

    Raises:
        CheckpointError: damaged notes.
        DataError: a training file is broken.
    """
    seen = Seen()
    for path in trained_on:
        note_file(path, seen)
    if not name.startswith(RANDOM):
        _note_stages(find_checkpoint(name), seen)
    return seen


def _note_stages(folder: Path, seen: Seen) -> None:
    """Note what a tuned folder names, and what the one it was tuned from names."""
    notes = folder / "training.json"
    noted = _read_notes(notes)
    if "trained_on" in noted and _is_there(Path(noted["trained_on"]), notes):
        note_file(Path(noted["trained_on"]), seen)
    if "selected_by" in noted and _is_there(Path(noted["selected_by"]), notes):
        seen.add_examples(selection_pairs(Path(noted["selected_by"])))
    if {"trained_on", "backbone"} <= noted.keys() and _is_there(Path(noted["backbone"]), notes):
        _note_stages(Path(noted["backbone"]), seen)


def _read_notes(notes: Path) -> dict[str, str]:
    """Return the paths that a tuned folder notes, {} where it notes none."""
    found = read_object(notes, CheckpointError) if notes.is_file() else {}
    paths: dict[str, str] = {
        name: found[name] for name in ("trained_on", "selected_by", "backbone") if name in found
    }
    for name, path in paths.items():
        if not isinstance(path, str) or "\0" in path:
            raise CheckpointError(f"{notes}: {name} is {path!r:.60}; expected a path")
    return paths


def _is_there(path: Path, notes: Path) -> bool:
    if not path.exists():
        logger.warning("%s: names %s, which is gone; what it saw is not known", notes, path)
    return path.exists()
