"""The progress bar for everything that takes longer than a few seconds."""

import sys
from typing import Any

from tqdm import tqdm

from runtime.processes import is_main


def progress(
    description: str, total: int | None, unit: str, show: bool | None = None, delay: float = 0.0
) -> "tqdm[Any]":
    """Return a progress bar on stderr; by default only where stderr is a terminal.

    Work that is done within `delay` seconds shows none.
    """
    quiet = not (sys.stderr.isatty() if show is None else show) or not is_main()
    return tqdm(desc=description, total=total, unit=unit, disable=quiet, smoothing=0.1, delay=delay)
