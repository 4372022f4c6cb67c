"""Where the templates of the hand-out, the rubric and the page of a class are found."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

OWN = Path(__file__).parent / "templates"
STYLE = Path(__file__).parents[1] / "report" / "page" / "templates"


def templates(**settings: Any) -> Environment:
    """Return where templates are found; a name that is not given is an error."""
    lines: Any = {"trim_blocks": True, "lstrip_blocks": True}
    folders = FileSystemLoader([OWN, STYLE])
    return Environment(loader=folders, undefined=StrictUndefined, **lines, **settings)
