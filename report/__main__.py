"""What runs left behind, read again: `python -m report list | show | compare | cost | html`."""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from runtime.errors import UserError

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
USAGE = f"usage: python -m report {'|'.join(COMMANDS)} ... (--help after it explains)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if not words or words[0] not in COMMANDS:
        asked = words[:1] in (["-h"], ["--help"])
        print(USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        COMMANDS[words[0]](words[1:])
        return 0
    except BrokenPipeError:  # whoever read the output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
