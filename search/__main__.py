"""Finds the nearest texts: `python -m search index FILE --out INDEX`, then `query` and others."""

import sys
from collections.abc import Sequence

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

# `index` keeps the parts that it has finished, the other commands have nothing to keep.
KEPT = "\ninterrupted; the same command goes on from what it had finished"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    command, rest = words[:1], words[1:]
    if command == ["index"]:
        made = parse(IndexOptions, rest, **INDEX_ABOUT)
        return exit_code(lambda: work(made), KEPT)
    if command == ["query"]:
        asked = parse(QueryOptions, rest, **QUERY_ABOUT)
        need_reader()
        return exit_code(lambda: work(asked))
    if command == ["pairs"]:
        mined = parse(PairsOptions, rest, **PAIRS_ABOUT)
        need_reader()
        return exit_code(lambda: work(mined))
    if command == ["mine"]:
        wanted = parse(MineOptions, rest, **MINE_ABOUT)
        return exit_code(lambda: work(wanted))
    helped = command in (["-h"], ["--help"])
    print(HELP, file=sys.stdout if helped else sys.stderr)
    return 0 if helped else 2


def work(options: IndexOptions | QueryOptions | PairsOptions | MineOptions) -> None:
    """Do what a command line asks for; what is heavy loads here."""
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    if isinstance(options, IndexOptions):
        from search.build import make_index

        make_index(options)
    elif isinstance(options, QueryOptions):
        from search.query import answer

        answer(options)
    elif isinstance(options, PairsOptions):
        from search.pairs import mine_pairs

        mine_pairs(options)
    else:
        from search.mine import mine

        mine(options)


if __name__ == "__main__":
    begin()
    sys.exit(main())
