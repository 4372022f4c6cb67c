"""Finds the nearest texts: `python -m search index FILE --out INDEX`, then `query` and others."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from runtime.commands import begin, exit_code
from runtime.options import did_you_mean, parse
from runtime.streams import need_reader, printable
from search.options import (
    HELP,
    INDEX_ABOUT,
    MINE_ABOUT,
    PAIRS_ABOUT,
    QUERY_ABOUT,
    THRESHOLD_ABOUT,
    IndexOptions,
    MineOptions,
    PairsOptions,
    QueryOptions,
    ThresholdOptions,
)

# The options of each command, and the module and function that do its work: they load PyTorch.
COMMANDS: dict[str, tuple[type[Any], dict[str, Any], str, str]] = {
    "index": (IndexOptions, INDEX_ABOUT, "search.index", "make_index"),
    "query": (QueryOptions, QUERY_ABOUT, "search.query", "answer"),
    "pairs": (PairsOptions, PAIRS_ABOUT, "search.query", "print_pairs"),
    "threshold": (ThresholdOptions, THRESHOLD_ABOUT, "search.threshold", "print_threshold"),
    "mine": (MineOptions, MINE_ABOUT, "search.mine", "mine"),
}
# `index` keeps the parts that it has finished, the other commands have nothing to keep.
KEPT = "\ninterrupted; run the same command again to continue"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; return its exit code."""
    command, *words = [*(sys.argv[1:] if argv is None else argv)] or [""]
    if command not in COMMANDS:
        helped = command in ("-h", "--help")
        print(HELP, file=sys.stdout if helped else sys.stderr)
        if command and not helped:
            meant = did_you_mean(command, COMMANDS)
            print(f"error: no command {printable(command)!r}{meant}", file=sys.stderr)
        return 0 if helped else 2
    settings, about, module, function = COMMANDS[command]
    options = parse(settings, words, **about)

    def work() -> None:
        import torch

        if options.threads:
            torch.set_num_threads(options.threads)
        getattr(import_module(module), function)(options)

    if command in ("query", "pairs"):
        need_reader()
    return exit_code(work, KEPT if command == "index" else "\ninterrupted")


if __name__ == "__main__":
    begin()
    sys.exit(main())
