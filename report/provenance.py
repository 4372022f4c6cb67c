"""What is needed besides the settings to repeat a run: versions, machine, the code's commit."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "numpy", "tokenizers", "scikit-learn", "scipy", "safetensors")


def provenance() -> dict[str, Any]:
    """Return the versions of Python and the main packages, the machine, and the code's commit."""
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "commit": _commit(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of this code and whether files differ from it; None outside git."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=here, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
