"""Pages that open without a network, in the style of a run's page."""

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


def filled_in(template: str, **content: Any) -> str:
    """Return a page that refers to nothing outside; all that `content` holds is escaped."""
    page = templates(autoescape=True).get_template(template)
    return page.render(
        **content,
        style=(STYLE / "style.css").read_text(encoding="utf-8"),
        script=(STYLE / "page.js").read_text(encoding="utf-8"),
    )
