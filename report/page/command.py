"""Make the page of a finished run and write it into the run's folder. Feeds: the command line."""

from collections.abc import Callable
from pathlib import Path

from report.page.material import Material
from report.page.options import PageOptions
from runtime.errors import UserError
from runtime.files import write_text

PAGE = "report.html"

Say = Callable[[str], None]  # called with every line of output


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
        from report.page.making import render
    except ModuleNotFoundError as error:
        install = "python -m pip install -r requirements.txt"
        raise UserError(f"a page needs {error.name}, which is not installed; {install}") from None

    write_text(run / PAGE, render(Material.read(run, data)))
    return run / PAGE


def page(options: PageOptions, say: Say = print) -> None:
    """Make the page that a command line asks for; raises as `write_page`."""
    say(f"page: {write_page(options.run, options.data)}")
