"""A few cases of four campaigns; the whole ones are run by hand (docs/reliability.md)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_accidents_change_nothing():
    command = [sys.executable, "-m", "tests.campaigns", "quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
