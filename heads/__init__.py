"""Task heads on a sentence encoder: sentiment, paraphrase, STS, as bi- and as cross-encoder.

import heads
heads.load("runs/first", "sts").predict([("a man plays the guitar", "someone makes music")])
"""

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heads.saved import SavedHead


def load(run: str | PathLike[str], cell: str | None = None, device: str = "auto") -> "SavedHead":
    """Return the trained head of a finished run's cell, with its encoder; see heads.saved.

    Args:
        run: the run folder.
        cell: the name of a cell, or of a task: its best cell. None: the run's only task.
        device: `auto`, `cpu` or `cuda`.

    Raises:
        UserError: no such run or cell, or its files are damaged or gone; the message is one line.
    """
    from pathlib import Path

    from heads.saved import find_cell, load_head

    return load_head(find_cell(Path(run), cell).path, device)
