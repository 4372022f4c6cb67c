"""What runs left behind, read again: `python -m report list | show | compare | cost | html`."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from runtime.commands import begin, run_command

say = partial(print, flush=True)


# Flags are read before the modules that do the work: --help answers at once.
def _list(words: Sequence[str]) -> None:
    from report.options import parse_list

    options = parse_list(words)
    from report.ledger import list_runs

    list_runs(options, say)


def _show(words: Sequence[str]) -> None:
    from report.options import parse_show

    options = parse_show(words)
    from report.ledger import show_run

    show_run(options, say)


def _compare(words: Sequence[str]) -> None:
    from report.options import parse_compare

    options = parse_compare(words)
    from report.compare import compare

    compare(options, say)


def _cost(words: Sequence[str]) -> None:
    from report.cost import main as cost

    cost(words, say)


def _page(words: Sequence[str]) -> None:
    from report.page.options import parse_page

    options = parse_page(words)
    from report.page.command import page

    page(options, say)


COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "list": _list,
    "show": _show,
    "compare": _compare,
    "cost": _cost,
    "html": _page,
    "page": _page,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    return run_command("python -m report", COMMANDS, argv)


if __name__ == "__main__":
    begin()
    sys.exit(main())
