"""What campaigns count: one row per trial, a table of them at the end."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

# Outcomes that are as they should be; all others are faults.
GOOD = ("equal", "read", "made again", "refused")


class Trial(NamedTuple):
    """One trial: what was done to what, how it came out, and what was said."""

    campaign: str
    scene: str
    accident: str
    outcome: str
    said: str = ""


def faults(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that did not come out as they should."""
    return [trial for trial in trials if trial.outcome not in GOOD]


def table(trials: Sequence[Trial]) -> str:
    """Return how often which outcome was found, by scene."""
    outcomes = sorted({trial.outcome for trial in trials}, key=lambda o: (o not in GOOD, o))
    counts = Counter((trial.scene, trial.outcome) for trial in trials)
    lines = ["| | trials | " + " | ".join(outcomes) + " |"]
    lines.append("|---|---:|" + "---:|" * len(outcomes))
    for scene in dict.fromkeys(trial.scene for trial in trials):
        found = [counts[scene, outcome] for outcome in outcomes]
        lines.append(f"| {scene} | {sum(found)} | " + " | ".join(map(str, found)) + " |")
    return "\n".join(lines)


def one_line(said: str) -> str:
    """Return the line that begins with "error: " if that is the only one, else ""."""
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    return lines[0] if len(lines) == 1 and "Traceback" not in said else ""
