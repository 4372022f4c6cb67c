"""The page: all sections put into the templates. Reads: material, sections. Feeds: command."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from report.page.about import about_tables, command
from report.page.bars import bar_figures
from report.page.certainty import certainty_tables, reliability_figures
from report.page.curves import TRAJECTORY, curve_figures
from report.page.examples import MOST, shown_examples
from report.page.frontier import frontier
from report.page.material import Material
from report.page.scores import comparison_tables, leak_table, score_tables
from report.page.similarity import density_figures, residual_tables
from report.page.where import confusions, heat_maps
from report.paragraph import paragraph, verdict_of
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
    figures, costs = frontier(material)
    scores, other_scores = score_tables(material)
    curves = curve_figures(material)
    main, others = comparison_tables(material)
    headline, details = verdict_of(material.cells, material.judged)
    return {
        "name": material.run.path.resolve().name,
        "facts": _facts(material),
        "headline": headline,
        "details": details,
        "scores": scores,
        "other_scores": other_scores,
        "bars": bar_figures(material),
        "comparisons": main,
        "other_comparisons": others,
        "heat_maps": heat_maps(material),
        "examples": shown_examples(material),
        "most_examples": MOST,
        "confusions": confusions(material),
        "residuals": residual_tables(material),
        "reliability": reliability_figures(material),
        "certainty": certainty_tables(material),
        "densities": density_figures(material),
        "curves": curves,
        "measured_geometry": any(one.name == TRAJECTORY for one in curves),
        "frontier": figures,
        "costs": costs,
        "run": material.run.path,
        "leaks": leak_table(material),
        "command": command(material),
        "about": about_tables(material),
        "data": {
            "verdict": paragraph(material.cells, material.judged),
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
    seeds = [("seeds", ", ".join(map(str, run.seeds))), ("heads", len(run.heads()))]
    return [(name, str(value)) for name, value in (*facts, *seeds) if value is not None]
