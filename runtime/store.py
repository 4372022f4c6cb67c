"""Results that take long to compute are kept on disk, in folders named by a hash of their inputs.

All go through `kept`: tuned encoders, finished trainings, frozen embeddings, trials that choose
epochs and rates, rows of tables and vectors of texts. A result is a folder

    ROOT/NAME-DIGEST/
        made_of.json   the inputs by name; DIGEST is their hash
        ...            the files of the result
        SHA256SUMS     their hashes, in the format of `sha256sum -c`

that appears whole or not at all. Other inputs give another folder, so no result is ever stale, and
a changed file is detected. The sums detect accidents, not deliberate changes.
"""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.errors import KeptError, ProcessError
from runtime.files import digest, fault_of_sealed, put_in_place, scratch_folder, seal_folder, sweep
from runtime.processes import apart, barrier, is_main, main_decides, main_first

MADE_OF = "made_of.json"

# By kind; raised if the same inputs give another result, or files of another form.
FORMATS = {
    "backbone": 2,  # an encoder after its contrastive stage
    "training": 3,  # the heads of one training: predictions, scores, weights
    "trial": 2,  # the scores of a training on held-out rows of train, by epoch
    "embeddings": 2,  # of the texts that a frozen encoder reads
    "vectors": 3,  # of a shard of texts
    "texts": 1,  # of the train part of a table, for SimCSE
}

# These only hold numbers that are quickly computed again: a damaged folder is replaced.
CACHES = {"embeddings", "vectors", "trial", "texts"}


@dataclass(frozen=True)
class Work:
    """The paths for making a result.

    Attributes:
        folder: the folder to fill. It is renamed when `make` returns; only the first of several
            processes writes into it.
        state: a path for the state of an interrupted training; deleted when the result is complete.
        key: the digest in the final name of the folder.
    """

    folder: Path
    state: Path
    key: str


def kept(
    kind: str,
    made_of: dict[str, Any],
    make: Callable[[Work], None],
    root: Path,
    *,
    name: str = "",
    together: bool = False,
) -> Path:
    """Return the folder of the result with the inputs `made_of`, and make it unless it exists.

    All processes must call this, and all get the same answer.

    Args:
        kind: of FORMATS.
        made_of: everything that determines the result, as JSON.
        make: fills a folder; after an error only the state is left.
        root: the folder of all such results.
        name: prefix of the folder's name, for people.
        together: all processes call `make`, as in training; otherwise only the first does.

    Raises:
        KeptError: a file of it is missing or was changed afterwards.
        DiskError: it cannot be written.
    """
    made_of = {"kind": kind, "format": FORMATS[kind], **made_of}
    key = digest(made_of)[:16]
    folder = root / (f"{name}-{key}" if name else key)
    state = root / f"{folder.name}.state.pt"
    fault = main_decides(_fault(folder, made_of) if is_main() else None)
    if fault is None:
        if is_main():  # the run was killed directly after completing the result
            state.unlink(missing_ok=True)
        return folder
    if fault and kind not in CACHES:
        raise KeptError(f"{folder}: {fault}; delete the folder to make it again")

    if together:
        with scratch_folder(folder) if is_main() else nullcontext() as temporary:
            make(Work(main_decides(temporary), state, key))
            barrier()  # no process is making any more
            if temporary is not None:  # in the first process
                _finish(temporary, folder, made_of)
        barrier()  # the others read the folder next
    else:
        with main_first():
            if is_main():
                # Nested calls of `kept` in `make` must not wait for the other processes.
                with apart(), scratch_folder(folder) as temporary:
                    make(Work(temporary, state, key))
                    _finish(temporary, folder, made_of)
            elif not folder.is_dir():
                raise ProcessError(f"{folder}: the first process could not make it")
    if is_main():
        state.unlink(missing_ok=True)
    return folder


def _fault(folder: Path, made_of: dict[str, Any]) -> str | None:
    """Return the fault of a kept folder: None if there is none, "" if it does not exist."""
    sweep(folder.parent)
    if not folder.exists():
        return ""
    if fault := fault_of_sealed(folder):
        return fault
    try:
        stated = json.loads((folder / MADE_OF).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{MADE_OF} is not readable"
    return None if digest(stated) == digest(made_of) else f"{MADE_OF} is that of another folder"


def _finish(filled: Path, folder: Path, made_of: dict[str, Any]) -> None:
    """Write the inputs and the list of files of a filled folder, and rename it.

    If another command has made the same result meanwhile, that one is kept.
    """
    (filled / MADE_OF).write_text(json.dumps(made_of, indent=1) + "\n", encoding="utf-8")
    seal_folder(filled)
    put_in_place(filled, folder, lambda: _fault(folder, made_of) is None)
