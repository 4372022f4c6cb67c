"""The page of a finished run, written into its folder: report.html.

It is one HTML document that refers to nothing outside, filled in from the templates beside it.
"""

import json
import shlex
from pathlib import Path
from typing import Any

from report.finished import FinishedRun
from report.page.tables import UNKNOWN
from report.rates import at_one_rate
from report.verdict import verdict_of
from runtime.errors import UserError
from runtime.files import write_text

PAGE = "report.html"
TEMPLATES = Path(__file__).parent / "templates"


def write_page(run: Path, data: str | None = None) -> Path:
    """Write a finished run's page; return where it is.

    Args:
        run: the run folder.
        data: where the tasks' files are now; None: where they were.

    Raises:
        DataError: the run is unfinished, or a file it needs is damaged or gone.
        UserError: a library that draws it is not installed.
        OSError: the page cannot be written.
    """
    # The libraries that draw and fill in are loaded only where a page is made.
    try:
        import jinja2

        content = page_content(FinishedRun.read(run, data))
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
    write_text(run / PAGE, environment.get_template("page.html.j2").render(content))
    return run / PAGE


def page_content(run: FinishedRun) -> dict[str, Any]:
    """Return what the templates name.

    Raises:
        DataError: the run's costs are damaged.
    """
    from report.page import charts, sections

    frontier, costs, rests_on = charts.cost_figures(run)
    scores, other_scores = sections.score_tables(run)
    config = dict(run.config)
    words = config.pop("command", None)
    headline, details = verdict_of(run.cells, run.judged)
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
        "details": details,
        "scores": scores,
        "other_scores": other_scores,
        "bars": charts.bar_figures(run),
        "learning": charts.learning_figures(run),
        "crossings": [one.sentence() for one in run.learning if one.crossing],
        "rates": sections.rate_table(run),
        "at_one_rate": at_one_rate(run.shown),
        "comparisons": sections.comparison_table(run),
        "heat_maps": sections.heat_maps(run),
        "examples": sections.disagreements(run),
        "most_examples": sections.MOST,
        "confusions": sections.confusions(run),
        "densities": charts.density_figures(run),
        "frontier": frontier,
        "costs": costs,
        "rests_on": rests_on,
        "curves": charts.curve_figures(run),
        "command": shlex.join(["python", *map(str, words)]) if isinstance(words, list) else UNKNOWN,
        "settings": json.dumps(config, indent=2),
    }
