"""The comparison as functions: `run(Settings(...))` returns the cells of a grid.

settings -> grid, inputs -> backbones -> cells -> comparison. run_multitask.py, ablations and
benchmarks call these. The names are loaded on first use, so that `--help` needs no torch.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["Cell", "Settings", "run"]

if TYPE_CHECKING:
    from experiment.comparison import run
    from experiment.settings import Settings
    from report.cell import Cell

_HOME = {"Cell": "report.cell", "Settings": "experiment.settings", "run": "experiment.comparison"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'experiment' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
