"""The optional libraries of requirements-scale.txt. Feeds: texts, shards, over_ray."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from runtime.errors import MachineError


def has_pyarrow() -> bool:
    """Return whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def pyarrow(what_for: str) -> Any:
    """Return pyarrow, with its module parquet.

    Raises:
        MachineError: it is not installed.
    """
    return _imported("pyarrow", "pyarrow.parquet", what_for)


def ray_data(what_for: str) -> Any:
    """Return Ray, with its module data.

    Raises:
        MachineError: it is not installed.
    """
    return _imported("ray", "ray.data", what_for)


def _imported(library: str, module: str, what_for: str) -> Any:
    try:
        import_module(module)
        return import_module(library)
    except ImportError as error:
        raise MachineError(
            f"{what_for}: needs {library} ({error}); pip install -r requirements-scale.txt"
        ) from None
