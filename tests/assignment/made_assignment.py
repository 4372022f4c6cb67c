"""A made assignment, once per test process, and what its mutants answered."""

from pathlib import Path

import numpy as np

from assignment.compare import Suite


def write_answers(out: Path, suite: Suite, mistake: str) -> None:
    """Write what a mistake answers in its part, and the expected arrays in all others."""
    out.mkdir()
    mistaken = suite.mistakes[mistake]
    (part,) = [one["part"] for one in suite.about["mistakes"] if one["name"] == mistake]
    for case in suite.about["cases"]:
        arrays = mistaken if case["part"] == part else suite.answers
        if case["name"] in arrays:
            with (out / f"{case['name']}.npz").open("wb") as file:
                np.savez(file, **arrays[case["name"]])
