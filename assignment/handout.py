"""The hand-out, in Markdown and HTML, and the instructor's rubric."""

import importlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from assignment.parts import Part

TEMPLATES = Path(__file__).parent / "templates"


def write_handout(student: Path, instructor: Path, parts: Sequence[Part]) -> None:
    """Write handout.md with its figures and handout.html to the student's folder; the rubric."""
    content: dict[str, Any] = {
        "parts": parts,
        "total": sum(part.points for part in parts),
    }
    (student / "handout.md").write_text(_render("handout.md.j2", content), encoding="utf-8")
    (student / "handout.html").write_text(_render("handout.html.j2", content), encoding="utf-8")
    (student / "figures").mkdir()
    for part in parts:
        if part.figure:
            shutil.copyfile(TEMPLATES / part.figure, student / "figures" / part.figure)
    content["asked"] = {part.name: _asked(part) for part in parts}
    (instructor / "rubric.md").write_text(_render("rubric.md.j2", content), encoding="utf-8")


def _asked(part: Part) -> dict[str, str]:
    """Return case -> what it asks, in a line."""
    if not part.cases:
        return {}
    module = importlib.import_module(f"assignment.cases.{part.name}")
    return {case: getattr(module, case).__doc__.split("\n")[0] for case in part.cases}


def to_html(text: str) -> Markup:
    """Return a task's text as HTML: paragraphs, formulas on indented lines, `code`.

    It is all that the texts use of Markdown.
    """
    blocks: list[str] = []
    for line in text.splitlines():
        if line.startswith("  "):
            if blocks and blocks[-1].endswith("</pre>"):
                blocks[-1] = blocks[-1].removesuffix("</pre>") + f"\n{escape(line[2:])}</pre>"
            else:
                blocks.append(f"<pre>{escape(line[2:])}</pre>")
        elif line.strip():
            coded = re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(line)))
            stressed = re.sub(r"[*]([^*]+)[*]", r"<em>\1</em>", coded)
            blocks.append(f"<p>{stressed}</p>")
    return Markup("\n".join(blocks))


def to_markdown(text: str) -> str:
    """Return a task's text as Markdown: each line a paragraph, formulas as blocks of code."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("  "):
            if lines and not lines[-1].startswith("    "):
                lines.append("")
            lines.append(f"    {line.strip()}")
        else:
            lines += ["", line]
    return "\n".join(lines).strip()


def _render(name: str, content: dict[str, Any]) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"html": to_html, "markdown": to_markdown}
    environment.globals["figure_of"] = lambda name: Markup((TEMPLATES / name).read_text("utf-8"))
    return environment.get_template(name).render(**content)
