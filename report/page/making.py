"""The page: all sections put into the templates. Reads: material, sections. Feeds: command."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from report.page.about import about_tables, command
from report.page.bars import bar_figures
from report.page.curves import curve_figures
from report.page.examples import shown_examples
from report.page.frontier import frontier
from report.page.material import COSTS, Material
from report.page.scores import comparisons_table, leak_table, scores_table
from report.page.similarity import density_figures, residual_tables
from report.page.where import confusions, heat_maps
from report.paragraph import paragraph
from report.verdict import to_json

TEMPLATES = Path(__file__).parent / "templates"


def render(material: Material) -> str:
    """Return the page of a run, one HTML document that refers to nothing outside.

    Raises:
        DataError: a file of the run is damaged.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html.j2").render(
        **_content(material),
        style=(TEMPLATES / "style.css").read_text(encoding="utf-8"),
        script=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
    )


def _content(material: Material) -> dict[str, Any]:
    """Return what the templates name."""
    figures, story = frontier(material)
    verdict = paragraph(material.shown, material.judged)
    return {
        "name": material.run.path.resolve().name,
        "facts": _facts(material),
        "verdict": verdict,
        "scores": scores_table(material),
        "bars": bar_figures(material),
        "comparisons": comparisons_table(material),
        "heat_maps": heat_maps(material),
        "examples": shown_examples(material),
        "confusions": confusions(material),
        "residuals": residual_tables(material),
        "densities": density_figures(material),
        "curves": curve_figures(material),
        "frontier": figures,
        "story": story,
        "cost_command": f"python -m report cost {material.run.path} "
        f"--json {material.run.path / COSTS}",
        "leaks": leak_table(material),
        "command": command(material),
        "about": about_tables(material),
        "data": {
            "verdict": verdict,
            "config": material.run.config,
            "cells": [cell.to_json() for cell in material.cells],
            "curves": material.curves,
            **to_json(material.judged),
        },
    }


def _facts(material: Material) -> list[tuple[str, str]]:
    """Return in a few words what the run is."""
    run = material.run
    facts = [("backbone", run.option("backbone")), ("data", run.option("data"))]
    seeds = [("seeds", ", ".join(map(str, run.seeds))), ("cells", len(run.cells))]
    return [(name, str(value)) for name, value in (*facts, *seeds) if value is not None]
