"""run_multitask.py as a user starts it: in a process of its own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def command(*argv) -> list[str]:
    """Return the words of a command."""
    return [sys.executable, str(ROOT / "run_multitask.py"), *map(str, argv)]


def start(*argv, **kwargs) -> subprocess.CompletedProcess:
    """Run a command to its end."""
    return subprocess.run(command(*argv), capture_output=True, text=True, timeout=120, **kwargs)
