"""The progress bar for work that takes longer than a few seconds."""

import sys
from typing import Any

from tqdm import tqdm

from runtime.torchrun import rank


class _Bar(tqdm):
    """A bar that adds its name as a note to errors inside its block."""

    name = ""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            error.add_note(f"in the step {self.name!r}")
        super().__exit__(kind, error, trace)


def progress(
    description: str, total: int | None, unit: str, show: bool | None = None, delay: float = 0.0
) -> "tqdm[Any]":
    """Return a progress bar on stderr; by default only if stderr is a terminal.

    With torchrun, only the first process shows bars.

    Work that ends within `delay` seconds shows no bar. Errors that leave its block get a note with
    its name, which `runtime.commands` uses to report the step in which memory ran out.
    """
    quiet = not (rank() == 0 and (sys.stderr.isatty() if show is None else show))
    bar = _Bar(desc=description, total=total, unit=unit, disable=quiet, smoothing=0.1, delay=delay)
    bar.name = description
    return bar
