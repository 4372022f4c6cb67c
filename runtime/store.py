"""Results that take long to make are kept on disk, and found again by what they were made of.

`kept` is the one door: tuned encoders, finished trainings, frozen embeddings, trials of learning
rates, rows of tables and parts of an index all go through it. A result is a folder

    ROOT/NAME-DIGEST/
        made_of.json   what it was made of, every entry by its name; DIGEST is its hash
        ...            the files that were made
        SHA256SUMS     their hashes, as `sha256sum -c` reads them

that appears whole or not at all. Other inputs are another folder, so nothing is ever stale, and a
file that has changed since is noticed. Whoever wants to can write the sums anew: this finds
accidents, not intent.
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

# Of each kind: raised when the same inputs give another result, or files of another form.
FORMATS = {
    "backbone": 2,  # an encoder after its contrastive stage
    "training": 1,  # the heads of one training: predictions, scores, weights
    "trial": 1,  # the scores of one learning rate
    "embeddings": 2,  # of the texts that a frozen encoder reads
    "vectors": 3,  # of a shard of texts
    "index part": 3,
    "row": 1,  # of a table
    "texts": 1,  # of the train part of a table, which SimCSE learns from
}

# These hold nothing but numbers that are computed again in moments: a damaged one is replaced.
CACHES = {"embeddings", "vectors", "trial", "texts"}


@dataclass(frozen=True)
class Work:
    """Where a result is made.

    Attributes:
        folder: to be filled. It gets its name when `make` returns; only the first of several
            processes writes into it.
        state: a path for the state of an interrupted training; deleted with the result's arrival.
        key: the digest in the name that the folder will get.
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
    """Return the folder that holds what `made_of` describes, and make it unless it is there.

    Of several processes all call this, and get the same answer.

    Args:
        kind: of FORMATS.
        made_of: everything that decides the result, as JSON.
        make: fills a folder; an error in it leaves nothing behind but the state.
        root: the folder of all such results.
        name: what the folder's name begins with, for people.
        together: all processes make it, as they train; otherwise the first one does.

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
        if is_main():  # a run that was killed right after the result had arrived
            state.unlink(missing_ok=True)
        return folder
    if fault and kind not in CACHES:
        raise KeptError(f"{folder}: {fault}; delete the folder to make it again")

    if together:
        with scratch_folder(folder) if is_main() else nullcontext() as temporary:
            make(Work(main_decides(temporary), state, key))
            barrier()  # no process reads the state any more
            if temporary is not None:  # in the first process
                _finish(temporary, folder, made_of)
        barrier()  # the others read the folder next
    else:
        with main_first():
            if is_main():
                # What `make` keeps in turn is not for the others, who wait.
                with apart(), scratch_folder(folder) as temporary:
                    make(Work(temporary, state, key))
                    _finish(temporary, folder, made_of)
            elif not folder.is_dir():
                raise ProcessError(f"{folder}: the first process could not make it")
    if is_main():
        state.unlink(missing_ok=True)
    return folder


def _fault(folder: Path, made_of: dict[str, Any]) -> str | None:
    """Return what is wrong with a kept folder: None if nothing, "" if it is not there."""
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
    """Write what a filled folder was made of and the list of its files, and give it its name.

    Another command may have made the same result meanwhile: that one stays.
    """
    (filled / MADE_OF).write_text(json.dumps(made_of, indent=1) + "\n", encoding="utf-8")
    seal_folder(filled)
    put_in_place(filled, folder, lambda: _fault(folder, made_of) is None)
