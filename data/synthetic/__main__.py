"""The command line: `python -m data.synthetic --out DIR`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data.synthetic import VERSION, write
from runtime.commands import begin, exit_code
from runtime.errors import DiskError
from runtime.options import build_parser, option

INTERRUPTED = "\ninterrupted; nothing was written: run the same command again"

EXAMPLES = """\
examples:
  python -m data.synthetic --out bundled
      writes 20,000 sentences, 10,000 triplets, the files of three tasks and, in folders,
      evaluation suites in the formats of STS, SentEval and HANS and a set to search in that of
      BEIR to bundled/
  python -m data.synthetic --out bundled1 --seed 1
      other sentences of the same kind
  python -m data.synthetic --out bundled --pairs 40000
      more pairs in quora-train.csv, as cross-encoders need; no other file changes
  python -m data.synthetic --out bundled --order-pairs 40000
      40,000 more pairs there, which only word order tells apart

The files have the names and formats of CS224N's default project (ids-sst-*.csv, quora-*.csv,
sts-*.csv) and of SimCSE (wiki1m_for_simcse.txt, nli_for_simcse.csv), so DIR can stand wherever a
folder of these is asked for. The test files hold their labels, and a last column `phenomenon` says
what each row tests. What the set is good for, and what not: data/bundled/README.md
"""


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    out: Path = option(help="where to write", required=True, metavar="DIR")
    seed: int = option(0, "of the grammar's draws")
    pairs: int = option(8000, "rows of quora-train.csv", least=8000, most=1e7)
    order_pairs: int = option(0, "further rows, which only order tells apart", least=0, most=1e7)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the data set; return 0, 2 if the folder cannot be written, 130 if interrupted."""
    parser = build_parser(
        Options,
        prog="python -m data.synthetic",
        description="Write a data set made by a grammar: the same bytes for the same seed.",
        epilog=EXAMPLES,
    )
    # Not a field of Options: it sets nothing, but prints and ends, even without --out.
    parser.add_argument("--version", action="version", version=VERSION)
    options = Options(**vars(parser.parse_args(argv)))
    return exit_code(lambda: run(options), INTERRUPTED)


def run(options: Options) -> None:
    """Write the files, and print their folder.

    Raises:
        DiskError: the folder cannot be written.
    """
    try:
        write(options.out, options.seed, options.pairs, options.order_pairs)
    except DiskError:
        raise
    except OSError as error:
        reason = error.strerror or error
        where = f"{options.out}: cannot be written ({reason})"
        raise DiskError(f"{where}; name another --out") from None
    print(f"bundled data {VERSION}, seed {options.seed}: files are in {options.out}")


if __name__ == "__main__":
    begin(INTERRUPTED)
    sys.exit(main())
