"""A tenth of each campaign; the whole ones are run by hand (docs/reliability.md)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("campaign", "count"),
    [("kill", 24), ("inputs", 1200), ("artefacts", 120), ("disk", 14), ("environments", 6)],
)
def test_accidents_change_nothing(campaign, count):
    command = [sys.executable, "-m", "tests.campaigns", campaign, "--count", str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
