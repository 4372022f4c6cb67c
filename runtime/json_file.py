"""JSON files, whatever they hold: read, or refused in one line. Feeds: all that read settings."""

import json
import math
from pathlib import Path
from typing import Any

from runtime.errors import UserError


def read_json(path: Path, error: type[UserError] = UserError) -> Any:
    """Return the content of a JSON file.

    Args:
        path: the file.
        error: what is raised.

    Raises:
        UserError: `error`: no such file, not UTF-8, not JSON, or too deep or too long to read.
    """
    # A named pipe would never end, and a folder has no content.
    if not path.is_file():
        raise error(f"{path}: no such file")
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_int=_integer)
    except RecursionError:
        raise error(f"{path}: not a readable JSON file (nested too deeply)") from None
    except (ValueError, OSError) as reason:
        raise error(f"{path}: not a readable JSON file ({reason})") from None


def _integer(digits: str) -> int:
    """Return a number that a float holds; a larger one would fail wherever it met a float."""
    if math.isinf(float(digits)):
        raise ValueError(f"{digits[:20]}... is too large a number")
    return int(digits)


def read_object(path: Path, error: type[UserError] = UserError) -> dict[str, Any]:
    """Return the content of a JSON file that holds an object; arguments and errors as above."""
    content = read_json(path, error)
    if not isinstance(content, dict):
        raise error(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content
