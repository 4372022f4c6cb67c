"""The progress bar for everything that takes longer than a few seconds."""

import sys
from typing import Any

from tqdm import tqdm

from runtime.torchrun import rank


class _Bar(tqdm):
    """A bar that writes its name on errors that pass through it."""

    name = ""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            error.add_note(f"in the step {self.name!r}")
        super().__exit__(kind, error, trace)


def progress(
    description: str, total: int | None, unit: str, show: bool | None = None, delay: float = 0.0
) -> "tqdm[Any]":
    """Return a progress bar on stderr; by default only where stderr is a terminal.

    Of the processes that torchrun started, only the first shows any.

    Work that is done within `delay` seconds shows none. Errors that leave its block get a note with
    its name, from which `runtime.commands` tells in which step memory was used up.
    """
    quiet = not (rank() == 0 and (sys.stderr.isatty() if show is None else show))
    bar = _Bar(desc=description, total=total, unit=unit, disable=quiet, smoothing=0.1, delay=delay)
    bar.name = description
    return bar
