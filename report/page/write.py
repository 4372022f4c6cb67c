"""The page of a finished run, written into its folder: report.html.

It is one HTML document that refers to nothing outside, filled in from the templates in this folder.
"""

import json
import shlex
from pathlib import Path
from typing import Any

from data.examples import DataError
from report.costs import cheaper, measured_on
from report.finished import FinishedRun
from report.page.tables import UNKNOWN
from report.run_folder import COSTS
from report.table import answer
from report.verdict import sentence_case, task_name
from runtime.errors import UserError
from runtime.files import write_text

PAGE = "report.html"
TEMPLATES = Path(__file__).parent / "templates"


def write_page(path: Path, data: str | None = None) -> Path:
    """Write a finished run's page; return where it is.

    Args:
        path: the run folder.
        data: where the tasks' files are now; None: where they were.

    Raises:
        DataError: the run is unfinished, or a file it needs is damaged or gone.
        UserError: a library that draws it is not installed.
        OSError: the page cannot be written.
    """
    return write_finished(FinishedRun.read(path, data))


def write_finished(run: FinishedRun) -> Path:
    """Write the page of a run that was read; see `write_page`."""
    # The libraries that draw and fill in are loaded only where a page is made.
    try:
        import jinja2

        content = page_content(run)
    except ModuleNotFoundError as error:
        install = "python -m pip install -r requirements.txt"
        raise UserError(f"a page needs {error.name}, which is not installed; {install}") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    write_text(run.path / PAGE, environment.get_template("page.html.j2").render(content))
    return run.path / PAGE


def page_content(run: FinishedRun) -> dict[str, Any]:
    """Return what the templates name, section by section.

    Raises:
        DataError: the run's costs are damaged.
    """
    from report.page import charts, sections

    headline, paragraphs = answer(run.cells, run.judged, run.learning)
    config = dict(run.config)
    words = config.pop("command", None)
    return {
        "style": (TEMPLATES / "style.css").read_text(encoding="utf-8"),
        "script": (TEMPLATES / "page.js").read_text(encoding="utf-8"),
        "name": run.path.resolve().name,
        "run": run.path,
        "facts": {
            "backbone": run.cells[0].backbone,
            "data": run.cells[0].data,
            "seeds": ", ".join(map(str, sorted({cell.seed for cell in run.cells}))),
            "heads": len({cell.name for cell in run.cells}),
        },
        "headline": headline,
        "paragraphs": paragraphs,
        "bars": charts.bar_figures(run),
        "learning": charts.learning_figures(run),
        "scores": sections.score_tables(run),
        "comparisons": sections.comparison_table(run),
        "heat_maps": sections.heat_maps(run),
        "examples": sections.disagreements(run),
        "most_examples": sections.MOST,
        **cost_content(run),
        "curves": charts.curve_figures(run),
        "command": shlex.join(["python", *map(str, words)]) if isinstance(words, list) else UNKNOWN,
        "settings": json.dumps(config, indent=2),
    }


def cost_content(run: FinishedRun) -> dict[str, Any]:
    """Return the section on costs, empty where nothing was measured."""
    from report.page import sections

    costs = run.costs
    if costs is None:
        return {"costs": None, "cost_words": []}
    try:
        words = [
            f"{sentence_case(task_name(task))}: {cheaper(pairs)}"
            for task, pairs in costs["break_even"].items()
        ]
        words.append(f"Measured on {measured_on(costs)}.")
        return {"costs": sections.cost_table(costs), "cost_words": words}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        where = run.path / COSTS
        raise DataError(f"{where}: not a run's costs ({error!r}); delete it") from None
