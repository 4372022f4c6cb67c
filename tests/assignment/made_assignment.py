"""What students who made a known mistake would answer."""

from pathlib import Path

import numpy as np

from assignment.compare import Suite


def write_answers(out: Path, suite: Suite, mistake: str) -> None:
    """Write what a mistake answers to the cases of its part, as the driver does."""
    out.mkdir()
    for case, arrays in suite.mistakes[mistake].items():
        with (out / f"{case}.npz").open("wb") as file:
            np.savez(file, **arrays)
