"""The page of a finished run, written into its folder: report.html.

It is a single HTML document without external references, made from the templates in this folder.
"""

import json
import logging
import shlex
from pathlib import Path
from typing import Any

import jinja2

from data.examples import DataError
from heads.config import READERS
from report.costs import add_costs, cheaper, measured_on, read_costs
from report.finished import FinishedRun
from report.next_steps import in_lines as steps_in_lines
from report.next_steps import next_steps
from report.page import charts, curves, sections
from report.page.search import search_figures
from report.page.tables import UNKNOWN
from report.rating_groups import in_lines, rating_groups
from report.run_folder import COSTS
from report.table import answer
from report.verdict import sentence_case, task_name
from runtime.files import write_text
from runtime.processes import is_main
from runtime.streams import Say

PAGE = "report.html"
SYNTHETIC = {"bundled": " (synthetic)"}
TEMPLATES = Path(__file__).parent / "templates"
ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def add_costs_and_page(folder: Path, seconds: float, device: str, say: Say) -> None:
    """Measure the readers' costs, and write the page; errors here do not affect the results.

    Args:
        folder: of a finished run.
        seconds: to measure in.
        device: of the encoders.
        say: called with every line of output.
    """
    if not is_main():
        return
    for what, command, work in (
        ("costs", "cost", lambda: add_costs(folder, seconds, device, say)),
        ("page", "html", lambda: say(page_and_steps(folder))),
    ):
        try:
            work()
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            logging.warning(
                "no %s (%s); try again: python -m report %s %s", what, why, command, folder
            )


def page_and_steps(folder: Path) -> str:
    """Write a run's page; return where it is, and what to type next."""
    run = FinishedRun.read(folder)
    steps = steps_in_lines(next_steps(run.path, run.cells, run.config))
    return "\n".join([f"Report: {write_finished(run)} (open in a browser)", "", *steps])


def write_page(path: Path, data: str | None = None) -> Path:
    """Write a finished run's page; return where it is.

    Args:
        path: the run folder.
        data: where the tasks' files are now; None: where they were.

    Raises:
        DataError: the run is unfinished, or a file it needs is damaged or gone.
        OSError: the page cannot be written.
    """
    return write_finished(FinishedRun.read(path, data))


def write_finished(run: FinishedRun) -> Path:
    """Write the page of a run that was read; see `write_page`."""
    page = ENVIRONMENT.get_template("page.html.j2").render(page_content(run))
    write_text(run.path / PAGE, page)
    return run.path / PAGE


def page_content(run: FinishedRun) -> dict[str, Any]:
    """Return the variables of the templates, section by section.

    Raises:
        DataError: the run's costs are damaged.
    """
    headline, advice, paragraphs = answer(run.cells, run.judged, run.learning)
    config = dict(run.config)
    words = config.pop("command", None)
    seeds = sorted({cell.seed for cell in run.cells})
    groups = rating_groups(run.cells, run.splits, run.folder)
    return {
        "style": (TEMPLATES / "style.css").read_text(encoding="utf-8"),
        "script": (TEMPLATES / "page.js").read_text(encoding="utf-8"),
        "name": run.path.resolve().name,
        "run": _without_folders(str(run.path)),
        "facts": [
            f"encoder {', '.join(dict.fromkeys(cell.backbone for cell in run.cells))}",
            f"data {run.cells[0].data}" + SYNTHETIC.get(run.cells[0].data, ""),
            f"seed {seeds[0]} (1 seed)" if len(seeds) == 1 else f"{len(seeds)} seeds",
            f"heads {len({cell.name for cell in run.cells})}",
        ],
        "question": _question(run),
        "headline": headline,
        "advice": advice,
        "paragraphs": paragraphs,
        "steps": next_steps(
            Path(_without_folders(str(run.path))), run.cells, _without_folders(run.config)
        ),
        "differences": charts.difference_figure(run),
        "simcse": charts.simcse_figures(groups),
        "simcse_lines": in_lines(groups),
        "score_figures": [*search_figures(run), *charts.score_figures(run)],
        "is_search": run.cells[0].task == "search",
        "learning": curves.learning_figures(run),
        "scores": sections.score_tables(run),
        "reliability": sections.reliability_tables(run),
        "comparisons": sections.comparison_table(run),
        "examples": sections.disagreements(run),
        "most_examples": sections.MOST,
        **_costs(run),
        "curves": curves.curve_figures(run),
        "command": shlex.join(["python", *map(_without_folders, words)])
        if isinstance(words, list)
        else UNKNOWN,
        "settings": json.dumps(_without_folders(config), indent=2),
    }


def _question(run: FinishedRun) -> str:
    """Return what the run asked, as the title of its page."""
    if run.cells[0].task == "search":
        return "Which search?"
    readers = list(dict.fromkeys(cell.reads_as for cell in run.shown))
    if len(readers) > 1:
        return f"{sentence_case(' or '.join(READERS[reader] for reader in readers))}?"
    return "Which encoder?" if len({cell.stage for cell in run.shown}) > 1 else "How good is it?"


def _without_folders(value: Any) -> Any:
    """Return a value of JSON in which a path from the root is relative, or only its last part."""
    if isinstance(value, dict):
        return {name: _without_folders(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_without_folders(entry) for entry in value]
    if not isinstance(value, str):
        return value
    flag, equals, path = value.partition("=") if value.startswith("--") else ("", "", value)
    if not Path(path).is_absolute():
        return value
    if equals:
        return f"{flag}={_without_folders(path)}"
    inside = Path(value).is_relative_to(Path.cwd())
    return str(Path(value).relative_to(Path.cwd())) if inside else Path(value).name


def _costs(run: FinishedRun) -> dict[str, Any]:
    """Return the text on costs, empty if nothing was measured."""
    path = run.path / COSTS
    if not path.is_file():
        nothing: dict[str, Any] = {"costs": None, "cost_figure": None, "cost_words": []}
        return {"summary": sections.summary_table(run, None), **nothing}
    try:
        costs = read_costs(path)
        words = [
            f"{sentence_case(task_name(task))}: {cheaper(pairs)}"
            for task, pairs in costs["break_even"].items()
        ]
        words.append(f"Measured on {measured_on(costs)}.")
        return {
            "summary": sections.summary_table(run, costs),
            "costs": sections.cost_table(costs),
            "cost_figure": charts.cost_figure(costs),
            "cost_words": words,
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: not a run's costs ({error!r}); delete it") from None
