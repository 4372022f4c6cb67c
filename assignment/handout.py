"""The hand-out and the instructor's rubric."""

import importlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assignment.pages import OWN, templates
from assignment.parts import Part


def write_handout(
    student: Path, instructor: Path, parts: Sequence[Part], ai_usage: bool = False
) -> None:
    """Write handout.md with its figures to the student's folder, and the rubric.

    With `ai_usage` students are given a page on their use of AI, to fill in.
    """
    content: dict[str, Any] = {
        "parts": parts,
        "total": sum(part.points for part in parts),
        "hours": sum(part.hours for part in parts),
        "ai_usage": ai_usage,
    }
    if ai_usage:
        shutil.copyfile(OWN / "ai-usage.md", student / "ai-usage.md")
    workflow = student / ".github" / "workflows" / "classroom.yml"
    workflow.parent.mkdir(parents=True)
    for path, name in (
        (student / "handout.md", "handout.md.j2"),
        (workflow, "classroom.yml.j2"),
        (instructor / "README.md", "instructor.md.j2"),
    ):
        path.write_text(_render(name, content), encoding="utf-8")
    (student / "figures").mkdir()
    for part in parts:
        if part.figure:
            shutil.copyfile(OWN / part.figure, student / "figures" / part.figure)
    content["asked"] = {part.name: _asked(part) for part in parts}
    (instructor / "rubric.md").write_text(_render("rubric.md.j2", content), encoding="utf-8")


def _asked(part: Part) -> dict[str, str]:
    """Return case -> what it asks, in a line."""
    module = importlib.import_module(f"assignment.cases.{part.file}") if part.cases else None
    return {case: getattr(module, case).__doc__.split("\n")[0] for case in part.cases}


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
    environment = templates(keep_trailing_newline=True)
    environment.filters["markdown"] = to_markdown
    return environment.get_template(name).render(**content)
