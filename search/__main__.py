"""Finds the nearest texts: `python -m search index FILE --out INDEX`, then `query` and others."""

import sys
from collections.abc import Sequence
from typing import Any

from runtime.commands import begin, exit_code
from runtime.options import parse
from runtime.streams import need_reader
from search.options import (
    HELP,
    INDEX_ABOUT,
    MINE_ABOUT,
    PAIRS_ABOUT,
    QUERY_ABOUT,
    IndexOptions,
    MineOptions,
    PairsOptions,
    QueryOptions,
)

COMMANDS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "index": (IndexOptions, INDEX_ABOUT),
    "query": (QueryOptions, QUERY_ABOUT),
    "pairs": (PairsOptions, PAIRS_ABOUT),
    "mine": (MineOptions, MINE_ABOUT),
}
# `index` keeps the parts that it has finished, the other commands have nothing to keep.
KEPT = "\ninterrupted; the same command goes on from what it had finished"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; return its exit code."""
    command, *words = [*(sys.argv[1:] if argv is None else argv)] or [""]
    if command not in COMMANDS:
        helped = command in ("-h", "--help")
        print(HELP, file=sys.stdout if helped else sys.stderr)
        return 0 if helped else 2
    settings, about = COMMANDS[command]
    options = parse(settings, words, **about)
    if command in ("query", "pairs"):
        need_reader()
    return exit_code(lambda: work(options), KEPT if command == "index" else "\ninterrupted")


def work(options: IndexOptions | QueryOptions | PairsOptions | MineOptions) -> None:
    """Do what a command line asks for; what is heavy loads here."""
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    if isinstance(options, IndexOptions):
        from search.index import make_index

        make_index(options)
    elif isinstance(options, QueryOptions):
        from search.query import answer

        answer(options)
    elif isinstance(options, PairsOptions):
        from search.query import print_pairs

        print_pairs(options)
    else:
        from search.mine import mine

        mine(options)


if __name__ == "__main__":
    begin()
    sys.exit(main())
